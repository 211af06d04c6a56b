#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/log.h"

/* How long keyd may take to end after it has closed its socket. */
#define END_MS 1000

void client_init(struct keyd *keyd)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&keyd->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&keyd->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void client_free(struct keyd *keyd)
{
    pthread_cond_destroy(&keyd->idle);
    pthread_mutex_destroy(&keyd->mutex);
    buf_free(&keyd->request);
    buf_free(&keyd->answer);
}

static void set_lost(struct keyd *keyd)
{
    if (!keyd->lost && eventfd_write(keyd->lost_event, 1) != 0)
        log_fatal(EX_OSERR, "eventfd_write failed", "reason=\"%s\"", strerror(errno));
    keyd->lost = true;
}

/* False: the deadline has passed. */
static bool take(struct keyd *keyd, int64_t deadline_ms)
{
    const struct timespec until = clock_timespec(deadline_ms);
    int waited = 0;
    pthread_mutex_lock(&keyd->mutex);
    while (keyd->busy && waited == 0)
        waited = deadline_ms == 0 ? pthread_cond_wait(&keyd->idle, &keyd->mutex)
                                  : pthread_cond_timedwait(&keyd->idle, &keyd->mutex, &until);
    const bool taken = !keyd->busy;
    keyd->busy = true;
    pthread_mutex_unlock(&keyd->mutex);
    return taken;
}

static void release(struct keyd *keyd)
{
    pthread_mutex_lock(&keyd->mutex);
    keyd->busy = false;
    pthread_cond_signal(&keyd->idle);
    pthread_mutex_unlock(&keyd->mutex);
}

static bool receive(struct keyd *keyd, enum wire_type type, int64_t deadline_ms)
{
    struct wire_header header;
    return wire_read_header(keyd->child.fd, &header, deadline_ms) == WIRE_READ && header.type == type &&
           header.len <= WIRE_PAYLOAD_MAX &&
           wire_read_payload(keyd->child.fd, header.len, &keyd->answer, deadline_ms) == WIRE_READ;
}

/* Reads the answer to the last request. At the deadline of the call it returns without it. */
static enum err read_answer(struct keyd *keyd)
{
    const bool ends_first = keyd->deadline_ms != 0 && keyd->deadline_ms < keyd->answer_by_ms;
    if (ends_first && !wire_wait(keyd->child.fd, keyd->deadline_ms))
        return ERR_KEYD_UNAVAILABLE;
    if (!receive(keyd, keyd->type, keyd->answer_by_ms))
        set_lost(keyd);
    keyd->unanswered = false;
    return keyd->lost ? ERR_KEYD_UNAVAILABLE : ERR_OK;
}

enum err client_begin(struct keyd *keyd, int64_t deadline_ms, struct buf **request)
{
    if (!take(keyd, deadline_ms))
        return ERR_KEYD_UNAVAILABLE;
    keyd->deadline_ms = deadline_ms;
    const enum err e = keyd->unanswered ? read_answer(keyd) : ERR_OK;
    buf_clear(&keyd->request);
    *request = &keyd->request;
    if (e != ERR_OK)
        release(keyd);
    return e;
}

enum err client_exchange(struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer)
{
    enum err e = ERR_KEYD_UNAVAILABLE;
    keyd->type = type;
    keyd->answer_by_ms = clock_ms() + timeout_ms;
    if (!keyd->lost) {
        keyd->unanswered = wire_write(keyd->child.fd, type, buf_bytes(&keyd->request), keyd->answer_by_ms);
        if (keyd->unanswered)
            e = read_answer(keyd);
        else
            set_lost(keyd);
    }
    *answer = xdr_reader(e == ERR_OK ? buf_bytes(&keyd->answer) : (struct bytes){0});
    return e;
}

enum err client_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer)
{
    if (!keyd->unanswered && (e != ERR_OK || xdr_end(answer) != ERR_OK))
        set_lost(keyd);
    if (keyd->lost)
        e = ERR_KEYD_UNAVAILABLE;
    release(keyd);
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
