/* Writes to and reads from a real key process without its client, so that a test can send any message. */
#pragma once

#include "../../../src/keys/spawn.h"
#include "../../../src/keys/wire.h"

/* Starts one with the known secrets (support/keyd.h) and waits until it is ready. */
struct spawn_child raw_spawn(enum keyd_mode mode);

/* Appends the payload of WIRE_LOAD, without key rows. */
void raw_put_load(struct buf *out);

/* Sends a whole frame, or only its header, with any length in it. */
void raw_send(const struct spawn_child *child, uint32_t type, const struct buf *payload);
void raw_send_header(const struct spawn_child *child, uint32_t type, uint32_t len);

/* The payload of the next answer, which must be of that type, replaces the contents of the buffer. */
void raw_receive(const struct spawn_child *child, uint32_t type, struct buf *answer);

/* Sends WIRE_LOAD; the answer must be ERR_OK. */
void raw_load(const struct spawn_child *child);

/* Closes the socket for writing, waits for the end and returns the exit code. There must be no answer. */
int raw_end(struct spawn_child *child);

/* Returns a file of its /proc, NUL-terminated; the caller frees it. len may be NULL. */
char *raw_proc(const struct spawn_child *child, const char *name, size_t *len);
