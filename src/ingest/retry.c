/* How long ingestion waits after a failure, and what lasts too long. What is tried again is not known here.
 */
#include "retry.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* ---- pauses */

/* Returns a number below n. Jitter needs no good randomness. */
static unsigned random_below(unsigned n)
{
    unsigned number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = (unsigned)clock_us();
    return n > 0 ? number % n : 0;
}

unsigned backoff_next(struct backoff *backoff, unsigned first_ms, unsigned max_ms)
{
    const unsigned next_ms = backoff->pause_ms == 0 ? first_ms : 2 * backoff->pause_ms;
    backoff->pause_ms = next_ms < max_ms ? next_ms : max_ms;
    return backoff->pause_ms - random_below(backoff->pause_ms / 2 + 1);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->pause_ms = 0;
}

/* ---- outages */

#define LIMITS_FORGOTTEN 4

bool outage_lasts(struct outage *outage, int64_t now_ms)
{
    const int64_t forgotten_ms = (int64_t)outage->limit_ms * LIMITS_FORGOTTEN;
    if (outage->since_ms == 0 || now_ms - outage->last_ms > forgotten_ms)
        outage->since_ms = now_ms;
    outage->last_ms = now_ms;
    return now_ms - outage->since_ms >= outage->limit_ms;
}

void outage_end(struct outage *outage)
{
    outage->since_ms = outage->last_ms = 0;
}

/* ---- steps */

/* Backoff limit. It is short because no lease ends before the next try, and grants may be suspended while the
 * cursor lags. */
#define RETRY_MAX_MS 1000
/* A leader whose RPC fails for this many polls gives up the lead. */
#define GIVE_UP_POLLS 15
/* Polls between retries when an operator has to act. */
#define STOPPED_POLLS 20

enum retry_class retry_class(enum err e)
{
    switch (e) {
    case ERR_OK:
        return RETRY_DONE;
    case ERR_LEDGER_AHEAD:
    case ERR_NOT_LEADER:
        return RETRY_IDLE;
    case ERR_CANCELLED:
        return RETRY_CANCELLED;
    default:
        return err_is_transient(e) ? RETRY_UNAVAILABLE : RETRY_STOPPED;
    }
}

static void reset(struct retry *retry)
{
    backoff_reset(&retry->backoff);
    retry->failing_since_ms = 0;
}

unsigned retry_pause_ms(struct retry *retry, enum err e)
{
    switch (retry_class(e)) {
    case RETRY_DONE:
        reset(retry);
        return 0;
    case RETRY_IDLE:
        reset(retry);
        return retry->poll_ms;
    case RETRY_CANCELLED:
        return retry->poll_ms;
    case RETRY_UNAVAILABLE:
        if (retry->failing_since_ms == 0)
            retry->failing_since_ms = clock_ms();
        return backoff_next(
            &retry->backoff, retry->poll_ms, retry->poll_ms > RETRY_MAX_MS ? retry->poll_ms : RETRY_MAX_MS);
    default:
        reset(retry);
        return retry->poll_ms * STOPPED_POLLS;
    }
}

static bool keeps(const struct retry *retry, enum err e)
{
    switch (e) {
    case ERR_OK:
    case ERR_LEDGER_AHEAD:
    case ERR_CANCELLED:
        return true;
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED:
        return clock_ms() - retry->failing_since_ms < (int64_t)retry->poll_ms * GIVE_UP_POLLS;
    default:
        return false;
    }
}

bool retry_keeps_lead(struct retry *retry, enum err e)
{
    const bool kept = keeps(retry, e);
    if (!kept)
        retry->failing_since_ms = 0;
    return kept;
}

/* ---- the end */

enum err stop_open(struct stop *stop, struct detail *detail)
{
    stop->fd = eventfd(0, EFD_CLOEXEC);
    return stop->fd >= 0 ? ERR_OK : detail_set(detail, ERR_INTERNAL, "eventfd: %s", strerror(errno));
}

void stop_close(struct stop *stop)
{
    close(stop->fd);
}

void stop_tell(const struct stop *stop)
{
    if (eventfd_write(stop->fd, 1) != 0)
        log_error("cannot tell the ingestion threads to stop", "error=\"%s\"", strerror(errno));
}

bool stop_wait(const struct stop *stop, unsigned ms)
{
    struct pollfd fd = {.fd = stop->fd, .events = POLLIN};
    const int64_t deadline_ms = clock_ms() + ms;
    int ready;
    while ((ready = poll(&fd, 1, clock_left_ms(deadline_ms))) < 0 && errno == EINTR)
        ;
    return ready == 0;
}
