/* Talking to a real key process without its client, so that a test can say what a client never would. */
#ifndef FAIRWAY_TESTS_KEYD_RAW_H
#define FAIRWAY_TESTS_KEYD_RAW_H

#include "../../../src/keys/spawn.h"
#include "../../../src/keys/wire.h"

/* One that is ready, with the known secrets (support/keyd.h). */
struct spawned raw_spawn(enum keyd_mode mode);

/* The payload of WIRE_LOAD with keyd_test_settings(). */
void raw_put_load(struct buf *out);

/* A whole frame; or its header alone, with any length. */
void raw_say(const struct spawned *child, uint32_t type, const struct buf *payload);
void raw_announce(const struct spawned *child, uint32_t type, uint32_t len);

/* Its answer, which must be of that type, replaces what is in the buffer. */
void raw_hear(const struct spawned *child, uint32_t type, struct buf *answer);

/* WIRE_LOAD and its answer. */
void raw_load(const struct spawned *child);

/* Closes the socket for writing and waits: its exit code. No answer may have come before the end. */
int raw_end(struct spawned *child);

/* A file of its /proc, terminated; the caller frees it. len may be NULL. */
char *raw_proc(const struct spawned *child, const char *name, size_t *len);

#endif
