/* Frames on the socket between both processes. What a frame says is never decided here. */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"

/* Polls when there is a deadline. Without one the caller blocks in recv or send: the sandbox forbids poll. */
static bool wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    int ready;
    if (deadline_ms < 0)
        return true;
    do
        ready = poll(&poll_fd, 1, clock_left_ms(deadline_ms));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        ready = poll(&poll_fd, 1, KEYD_GRACE_MS);
    return ready > 0;
}

static int blocking_flag(int64_t deadline_ms)
{
    return deadline_ms < 0 ? 0 : MSG_DONTWAIT;
}

enum wire_result wire_receive(int fd, struct buf *frame, size_t len, int64_t deadline_ms)
{
    /* The payload probably has arrived with the header, so the first try does not poll. */
    bool there = frame->len > 0;
    if (frame->len < len)
        buf_reserve(frame, len - frame->len);
    for (; frame->len < len; there = false) {
        if (!there && !wait_for(fd, POLLIN, deadline_ms))
            return WIRE_TIMEOUT;
        ssize_t n = recv(fd, frame->data + frame->len, len - frame->len, blocking_flag(deadline_ms));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return frame->len == 0 ? WIRE_CLOSED : WIRE_TORN;
        frame->len += (size_t)n;
    }
    return WIRE_DONE;
}

struct wire_header wire_get_header(const struct buf *frame)
{
    return (struct wire_header){be32_get(frame->data), be32_get(frame->data + 4)};
}

struct bytes wire_payload(const struct buf *frame)
{
    return (struct bytes){frame->data + WIRE_HEADER_SIZE, frame->len - WIRE_HEADER_SIZE};
}

/* The sandbox allows no other call that sends than sendmsg. */
enum wire_result wire_send(int fd, struct bytes frame, size_t *sent, int64_t deadline_ms)
{
    for (bool room = true; *sent < frame.len; room = false) {
        struct iovec rest = {(void *)(frame.data + *sent), frame.len - *sent};
        const struct msghdr message = {.msg_iov = &rest, .msg_iovlen = 1};
        if (!room && !wait_for(fd, POLLOUT, deadline_ms))
            return WIRE_TIMEOUT;
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | blocking_flag(deadline_ms));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return WIRE_CLOSED;
        *sent += n > 0 ? (size_t)n : 0;
    }
    return WIRE_DONE;
}

/* Header and payload go out together: keyd ends at a header that it refuses, and a payload sent after that
 * would fail although the frame was read. */
bool wire_write(int fd, uint32_t type, struct bytes payload, int64_t deadline_ms)
{
    struct buf frame CLEANUP(buf_free) = {0};
    size_t sent = 0;
    buf_add_u32(&frame, (uint32_t)payload.len);
    buf_add_u32(&frame, type);
    buf_add_bytes(&frame, payload);
    return wire_send(fd, buf_bytes(&frame), &sent, deadline_ms) == WIRE_DONE;
}

void wire_put_bytes(struct buf *out, struct bytes bytes)
{
    static const uint8_t padding[3] = {0};
    buf_add_u32(out, (uint32_t)bytes.len);
    buf_add_bytes(out, bytes);
    buf_add(out, padding, (4 - bytes.len % 4) % 4);
}

struct bytes wire_get_bytes(struct xdr_reader *reader)
{
    const size_t len = xdr_u32(reader), padded = (len + 3) / 4 * 4;
    const uint8_t *data = reader->at;
    if (padded > (size_t)(reader->end - reader->at))
        xdr_fail(reader, ERR_XDR_TRUNCATED);
    if (reader->e != ERR_OK)
        return (struct bytes){0};
    reader->at += padded;
    return (struct bytes){data, len};
}

void wire_put_result(struct buf *out, enum err result, const struct detail *detail)
{
    buf_add_u32(out, result);
    wire_put_bytes(out, (struct bytes){(const uint8_t *)detail->text, strlen(detail->text)});
}

enum err wire_get_err(struct xdr_reader *reader)
{
    return (enum err)xdr_count(reader, ERR_INTERNAL);
}

enum err wire_get_result(struct xdr_reader *reader, struct detail *detail)
{
    const enum err result = wire_get_err(reader);
    const struct bytes text = wire_get_bytes(reader);
    if (detail != NULL && reader->e == ERR_OK && text.len < sizeof detail->text) {
        memcpy(detail->text, text.data, text.len);
        detail->text[text.len] = '\0';
    }
    return result;
}

void wire_put_sealed(struct buf *out, const struct sealed_seed *sealed)
{
    buf_add(out, sealed->key_id, KEY_ID_SIZE - 1);
    buf_add(out, sealed->box, SEAL_SIZE);
}

struct sealed_seed wire_get_sealed(struct xdr_reader *reader)
{
    struct sealed_seed sealed = {0};
    xdr_opaque(reader, (uint8_t *)sealed.key_id, KEY_ID_SIZE - 1);
    xdr_opaque(reader, sealed.box, SEAL_SIZE);
    return sealed;
}

void wire_put_row(struct buf *out, const struct master_key_row *row)
{
    buf_add(out, row->key_id, KEY_ID_SIZE - 1);
    buf_add_u32(out, row->derived);
    buf_add(out, row->salt, KDF_SALT_SIZE);
}

struct master_key_row wire_get_row(struct xdr_reader *reader)
{
    struct master_key_row row = {0};
    xdr_opaque(reader, (uint8_t *)row.key_id, KEY_ID_SIZE - 1);
    row.derived = xdr_bool(reader);
    xdr_opaque(reader, row.salt, KDF_SALT_SIZE);
    return row;
}
