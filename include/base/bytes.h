/* Views of bytes that others own, big-endian integers, and a growing buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A view: valid as long as the memory that it points to. */
struct bytes {
    const uint8_t *data;
    size_t len;
};

#define BYTES_OF(array) ((struct bytes){(array), sizeof(array)})

/* Compares with memcmp, whose time depends on the contents: never for secrets. */
bool bytes_equal(struct bytes a, struct bytes b);

uint32_t be32_get(const uint8_t *at);
uint64_t be64_get(const uint8_t *at);
void be32_put(uint8_t *at, uint32_t value);
void be64_put(uint8_t *at, uint64_t value);

/*
 * A growing buffer. Out of memory ends the process, so callers limit sizes that a client chooses. {0} is an
 * empty buffer. buf_free does not wipe the memory: never put secrets here.
 */
struct buf {
    uint8_t *data;
    size_t len, cap;
};

void buf_reserve(struct buf *buf, size_t more); /* allocates so that len can grow by more; len stays */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_bytes(struct buf *buf, struct bytes bytes);
void buf_add_u32(struct buf *buf, uint32_t value); /* big endian, as in XDR */
void buf_add_u64(struct buf *buf, uint64_t value);
void buf_clear(struct buf *buf); /* sets the length to 0 and keeps the memory */
void buf_free(struct buf *buf);
struct bytes buf_bytes(const struct buf *buf); /* valid until the next change */
