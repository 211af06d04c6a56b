/* Big-endian numbers and growing buffers. A buffer is never cut or checked for meaning here. */
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

uint32_t be32_get(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint64_t be64_get(const uint8_t *at)
{
    return (uint64_t)be32_get(at) << 32 | be32_get(at + 4);
}

void be32_put(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

void be64_put(uint8_t *at, uint64_t value)
{
    be32_put(at, (uint32_t)(value >> 32));
    be32_put(at + 4, (uint32_t)value);
}

void buf_reserve(struct buf *buf, size_t more)
{
    INVARIANT(buf->len <= buf->cap);
    if (more <= buf->cap - buf->len)
        return;
    size_t cap = buf->cap < 256 ? 256 : buf->cap;
    while (cap - buf->len < more) {
        INVARIANT(cap <= SIZE_MAX / 2);
        cap *= 2;
    }
    buf->data = mem_grow(buf->data, cap, 1);
    buf->cap = cap;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
    if (len == 0)
        return;
    buf_reserve(buf, len);
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

void buf_add_bytes(struct buf *buf, struct bytes bytes)
{
    buf_add(buf, bytes.data, bytes.len);
}

void buf_add_u32(struct buf *buf, uint32_t value)
{
    uint8_t bytes[4];
    be32_put(bytes, value);
    buf_add(buf, bytes, sizeof bytes);
}

void buf_add_u64(struct buf *buf, uint64_t value)
{
    uint8_t bytes[8];
    be64_put(bytes, value);
    buf_add(buf, bytes, sizeof bytes);
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

struct bytes buf_bytes(const struct buf *buf)
{
    return (struct bytes){buf->data, buf->len};
}
