/* Exchanges messages with keyd, one at a time. Their content is written and read by keyd.c. */
#include "client.h"

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/metric.h"
#include "base/thread.h"

void client_init(struct keyd *keyd)
{
    pthread_mutex_init(&keyd->mutex, NULL);
    thread_cond_init(&keyd->idle);
}

void client_free(struct keyd *keyd)
{
    pthread_cond_destroy(&keyd->idle);
    pthread_mutex_destroy(&keyd->mutex);
    buf_free(&keyd->request);
    buf_free(&keyd->answer);
}

/* False: the deadline has passed, and for KEYD_GRACE_MS another call was under way. */
static bool take(struct keyd *keyd, int64_t deadline_ms)
{
    const int64_t least_ms = clock_ms() + KEYD_GRACE_MS;
    const struct timespec until = clock_timespec(deadline_ms > least_ms ? deadline_ms : least_ms);
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
    INVARIANT(keyd->busy);
    keyd->busy = false;
    pthread_cond_signal(&keyd->idle);
    pthread_mutex_unlock(&keyd->mutex);
}

/* Receives the rest of the answer. */
static enum wire_result receive(struct keyd *keyd, int64_t deadline_ms)
{
    struct buf *answer = &keyd->answer;
    enum wire_result result = wire_receive(keyd->child.fd, answer, WIRE_HEADER_SIZE, deadline_ms);
    if (result != WIRE_DONE)
        return result;
    const struct wire_header header = wire_get_header(answer);
    if (header.type != keyd->type || header.len > WIRE_PAYLOAD_MAX)
        return WIRE_TORN;
    return wire_receive(keyd->child.fd, answer, WIRE_HEADER_SIZE + (size_t)header.len, deadline_ms);
}

/* Sends the rest of the request and receives the rest of its answer. At the deadline (0: none) it returns,
 * and the exchange stays open. keyd is lost when the answer is malformed or has not come by answer_by_ms. */
static enum err proceed(struct keyd *keyd, int64_t deadline_ms)
{
    const bool ends_first = deadline_ms != 0 && deadline_ms < keyd->answer_by_ms;
    const int64_t until_ms = ends_first ? deadline_ms : keyd->answer_by_ms;
    enum wire_result result = wire_send(keyd->child.fd, buf_bytes(&keyd->request), &keyd->sent, until_ms);
    if (result == WIRE_DONE)
        result = receive(keyd, until_ms);
    if (result == WIRE_TIMEOUT && ends_first)
        return ERR_KEYD_UNAVAILABLE;
    keyd->open = false;
    if (result != WIRE_DONE)
        keyd->lost = true;
    return keyd->lost ? ERR_KEYD_UNAVAILABLE : ERR_OK;
}

/* Ends the exchange that the call before has left open. */
static enum err end_last(struct keyd *keyd, int64_t deadline_ms)
{
    if (!keyd->open)
        return ERR_OK;
    enum err e = proceed(keyd, deadline_ms);
    return e == ERR_OK && deadline_ms != 0 && clock_ms() > deadline_ms ? ERR_KEYD_UNAVAILABLE : e;
}

enum err client_begin(struct keyd *keyd, int64_t deadline_ms, struct buf **request)
{
    static const uint8_t header[WIRE_HEADER_SIZE]; /* set by client_exchange */
    if (!take(keyd, deadline_ms))
        return ERR_KEYD_UNAVAILABLE;
    enum err e = end_last(keyd, deadline_ms);
    if (e != ERR_OK) {
        release(keyd);
        return e;
    }
    INVARIANT(!keyd->open);
    keyd->deadline_ms = deadline_ms;
    buf_clear(&keyd->request);
    buf_add(&keyd->request, header, sizeof header);
    *request = &keyd->request;
    return ERR_OK;
}

struct xdr_reader client_exchange(struct keyd *keyd, enum wire_type type, int timeout_ms)
{
    be32_put(keyd->request.data, (uint32_t)wire_payload(&keyd->request).len);
    be32_put(keyd->request.data + 4, type);
    buf_clear(&keyd->answer);
    keyd->type = type;
    keyd->sent = 0;
    keyd->answer_by_ms = clock_ms() + timeout_ms;
    keyd->open = !keyd->lost;
    enum err e = keyd->open ? proceed(keyd, keyd->deadline_ms) : ERR_KEYD_UNAVAILABLE;
    struct xdr_reader answer = xdr_reader(e == ERR_OK ? wire_payload(&keyd->answer) : (struct bytes){0});
    xdr_fail(&answer, e);
    return answer;
}

void client_note_budget(struct keyd *keyd, int64_t left_stroops)
{
    keyd->fees.left = (double)left_stroops;
    keyd->filled_us = clock_us();
    metric_set(METRIC_KEYD_BUDGET_LEFT, 0, left_stroops);
}

enum err client_end(struct keyd *keyd, const struct xdr_reader *answer)
{
    const enum err e = xdr_end(answer);
    if (!keyd->open && e != ERR_OK)
        keyd->lost = true;
    release(keyd);
    return e == ERR_OK ? ERR_OK : ERR_KEYD_UNAVAILABLE;
}

void keyd_check(struct keyd *keyd)
{
    const int64_t now_ms = clock_ms();
    if (!take(keyd, now_ms))
        return; /* the call that is under way notices it */
    if (keyd->open && now_ms >= keyd->answer_by_ms)
        (void)!proceed(keyd, 0);
    budget_fill(&keyd->fees, clock_us() - keyd->filled_us);
    client_note_budget(keyd, (int64_t)keyd->fees.left);
    release(keyd);
}

enum err client_wait_ready(struct keyd *keyd, int timeout_ms, struct detail *detail)
{
    keyd->type = WIRE_READY;
    if (receive(keyd, clock_ms() + timeout_ms) == WIRE_DONE) {
        struct xdr_reader answer = xdr_reader(wire_payload(&keyd->answer));
        const enum err result = wire_get_result(&answer, detail);
        return xdr_end(&answer) == ERR_OK
                   ? result
                   : detail_set(detail, ERR_CONFIG, "fairway-keyd is of another version");
    }
    struct detail end;
    if (!spawn_ended(&keyd->child, KEYD_END_MS, &end))
        return detail_set(detail, ERR_KEYD_UNAVAILABLE,
            "the key process is not ready after %d s, with all its input read", timeout_ms / 1000);
    return detail_set(detail, ERR_CONFIG, "the key process does not start (%s)", end.text);
}
