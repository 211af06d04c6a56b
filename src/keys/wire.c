#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

static bool wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    int ready;
    do
        ready = poll(&poll_fd, 1, deadline_ms < 0 ? -1 : clock_left_ms(deadline_ms));
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Reads len bytes. *got tells how far it came when it does not end with WIRE_READ. */
static enum wire_reads read_all(int fd, uint8_t *at, size_t len, size_t *got, int64_t deadline_ms)
{
    for (*got = 0; *got < len;) {
        if (!wait_for(fd, POLLIN, deadline_ms))
            return WIRE_TIMEOUT;
        ssize_t n = recv(fd, at + *got, len - *got, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return WIRE_TORN;
        *got += (size_t)n;
    }
    return WIRE_READ;
}

enum wire_reads wire_read(int fd, uint32_t *type, struct buf *payload, uint32_t max, int64_t deadline_ms)
{
    uint8_t header[WIRE_HEADER_SIZE];
    size_t got;
    buf_clear(payload);
    enum wire_reads result = read_all(fd, header, sizeof header, &got, deadline_ms);
    if (result != WIRE_READ)
        return result == WIRE_TORN && got == 0 ? WIRE_CLOSED : result;
    uint32_t len = be32_get(header);
    *type = be32_get(header + 4);
    if (len > max)
        return WIRE_OVERSIZED;
    buf_reserve(payload, len);
    result = read_all(fd, payload->data, len, &got, deadline_ms);
    payload->len = result == WIRE_READ ? len : 0;
    return result;
}

bool wire_write(int fd, uint32_t type, struct bytes payload, int64_t deadline_ms)
{
    uint8_t header[WIRE_HEADER_SIZE];
    be32_put(header, (uint32_t)payload.len);
    be32_put(header + 4, type);
    struct bytes parts[] = {BYTES_OF(header), payload};
    for (size_t i = 0; i < 2; i++)
        for (size_t sent = 0; sent < parts[i].len;) {
            if (!wait_for(fd, POLLOUT, deadline_ms))
                return false;
            int more = i == 0 && payload.len > 0 ? MSG_MORE : 0;
            ssize_t n =
                send(fd, parts[i].data + sent, parts[i].len - sent, MSG_NOSIGNAL | MSG_DONTWAIT | more);
            if (n < 0 && errno != EINTR && errno != EAGAIN)
                return false;
            if (n > 0)
                sent += (size_t)n;
        }
    return true;
}

void wire_put_bytes(struct buf *out, struct bytes bytes)
{
    static const uint8_t padding[3] = {0};
    buf_add_u32(out, (uint32_t)bytes.len);
    buf_add_bytes(out, bytes);
    buf_add(out, padding, (4 - bytes.len % 4) % 4);
}

enum err wire_get_bytes(struct xdr_reader *reader, struct bytes *out)
{
    uint32_t len;
    enum err e = xdr_u32(reader, &len);
    if (e != ERR_OK)
        return e;
    size_t padded = ((size_t)len + 3) / 4 * 4;
    if (padded > (size_t)(reader->end - reader->at))
        return ERR_XDR_TRUNCATED;
    *out = (struct bytes){reader->at, len};
    reader->at += padded;
    return ERR_OK;
}

enum err wire_get_detail(struct xdr_reader *reader, struct detail *detail)
{
    struct bytes text;
    enum err e = wire_get_bytes(reader, &text);
    if (e == ERR_OK && detail != NULL) {
        size_t len = text.len < sizeof detail->text - 1 ? text.len : sizeof detail->text - 1;
        memcpy(detail->text, text.data, len);
        detail->text[len] = '\0';
    }
    return e;
}

void wire_put_sealed(struct buf *out, const struct sealed_seed *sealed)
{
    buf_add(out, sealed->key_id, KEY_ID_SIZE - 1);
    buf_add(out, sealed->box, SEAL_SIZE);
}

enum err wire_get_sealed(struct xdr_reader *reader, struct sealed_seed *sealed)
{
    enum err e = xdr_opaque(reader, (uint8_t *)sealed->key_id, KEY_ID_SIZE - 1);
    sealed->key_id[KEY_ID_SIZE - 1] = '\0';
    return e != ERR_OK ? e : xdr_opaque(reader, sealed->box, SEAL_SIZE);
}

void wire_put_row(struct buf *out, const struct master_key_row *row)
{
    buf_add(out, row->key_id, KEY_ID_SIZE - 1);
    buf_add_u32(out, row->derived);
    buf_add(out, row->salt, KDF_SALT_SIZE);
}

enum err wire_get_row(struct xdr_reader *reader, struct master_key_row *row)
{
    enum err e = xdr_opaque(reader, (uint8_t *)row->key_id, KEY_ID_SIZE - 1);
    row->key_id[KEY_ID_SIZE - 1] = '\0';
    if (e == ERR_OK)
        e = xdr_bool(reader, &row->derived);
    return e != ERR_OK ? e : xdr_opaque(reader, row->salt, KDF_SALT_SIZE);
}
