/* What follows the result of a step. What a step is, is not known here. */
#include "retry.h"

/* Backoff limit. It is short because no lease ends before the next try, and grants may be suspended while the
 * cursor lags. */
#define RETRY_MAX_MS 1000
/* Polls between retries when an operator has to act. */
#define STOPPED_POLLS 20

enum retry_class retry_class(enum err e)
{
    switch (e) {
    case ERR_OK:
    case ERR_LEDGER_AHEAD:
    case ERR_NOT_LEADER:
    case ERR_CANCELLED:
        return RETRY_FINE;
    default:
        return err_is_transient(e) ? RETRY_UNAVAILABLE : RETRY_STOPPED;
    }
}

unsigned retry_pause_ms(struct retry *retry, enum err e)
{
    switch (retry_class(e)) {
    case RETRY_FINE:
        if (e == ERR_OK || e == ERR_LEDGER_AHEAD)
            backoff_reset(&retry->backoff);
        return retry->poll_ms;
    case RETRY_UNAVAILABLE:
        return backoff_next(
            &retry->backoff, retry->poll_ms, retry->poll_ms > RETRY_MAX_MS ? retry->poll_ms : RETRY_MAX_MS);
    default:
        return retry->poll_ms * STOPPED_POLLS;
    }
}

bool retry_keeps_lead(enum err e, bool session_open)
{
    return session_open && e != ERR_NOT_LEADER && e != ERR_OUTCOME_UNKNOWN;
}
