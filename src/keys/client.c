#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/log.h"

/* How long keyd may take to end after it has closed its socket. */
#define END_MS 1000

/* The caller holds the mutex. */
static void set_lost(struct keyd *keyd)
{
    if (!keyd->lost && eventfd_write(keyd->lost_event, 1) != 0)
        log_fatal(EX_OSERR, "eventfd_write failed", "reason=\"%s\"", strerror(errno));
    keyd->lost = true;
}

struct buf *client_begin(struct keyd *keyd)
{
    pthread_mutex_lock(&keyd->mutex);
    buf_clear(&keyd->request);
    return &keyd->request;
}

static bool receive(struct keyd *keyd, enum wire_type type, int64_t deadline_ms)
{
    struct wire_header header;
    return wire_read_header(keyd->child.fd, &header, deadline_ms) == WIRE_READ && header.type == type &&
           header.len <= WIRE_PAYLOAD_MAX &&
           wire_read_payload(keyd->child.fd, header.len, &keyd->answer, deadline_ms) == WIRE_READ;
}

enum err client_exchange(struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    if (!keyd->lost && (!wire_write(keyd->child.fd, type, buf_bytes(&keyd->request), deadline_ms) ||
                           !receive(keyd, type, deadline_ms)))
        set_lost(keyd);
    *answer = xdr_reader(keyd->lost ? (struct bytes){0} : buf_bytes(&keyd->answer));
    return keyd->lost ? ERR_KEYD_UNAVAILABLE : ERR_OK;
}

enum err client_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer)
{
    if (e != ERR_OK || xdr_end(answer) != ERR_OK)
        set_lost(keyd);
    e = keyd->lost ? ERR_KEYD_UNAVAILABLE : ERR_OK;
    pthread_mutex_unlock(&keyd->mutex);
    return e;
}

enum err client_wait_ready(struct keyd *keyd, struct detail *detail)
{
    enum err result;
    if (receive(keyd, WIRE_READY, clock_ms() + CLIENT_CALL_MS)) {
        struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
        enum err e = wire_get_result(&answer, &result, detail);
        return e == ERR_OK && xdr_end(&answer) == ERR_OK
                   ? result
                   : detail_set(detail, ERR_CONFIG, "fairway-keyd is of another version");
    }
    struct detail end;
    if (!spawn_ended(&keyd->child, END_MS, &end))
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "the key process does not become ready");
    return detail_set(detail, ERR_CONFIG, "the key process does not start (%s)", end.text);
}
