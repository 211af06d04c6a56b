/* Reads frames of src/keys/wire.h. */
#pragma once

#include <string.h>

#include "../src/keys/wire.h"

/* Reads one frame; the payload replaces the contents of the buffer. */
static inline enum wire_result read_frame(int fd, uint32_t *type, struct buf *payload, int64_t deadline_ms)
{
    buf_clear(payload);
    enum wire_result read = wire_receive(fd, payload, WIRE_HEADER_SIZE, deadline_ms);
    if (read != WIRE_DONE)
        return read;
    const struct wire_header header = wire_get_header(payload);
    *type = header.type;
    read = wire_receive(fd, payload, WIRE_HEADER_SIZE + (size_t)header.len, deadline_ms);
    payload->len -= WIRE_HEADER_SIZE;
    memmove(payload->data, payload->data + WIRE_HEADER_SIZE, payload->len);
    return read;
}
