/* Which errors of a start may pass, and how long to wait between two tries. Knows no step. */
#include "retry.h"

#include "base/clock.h"
#include "base/log.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 1000
#define LOG_EVERY_MS 5000

static bool is_transient(enum err e)
{
    switch (e) {
    case ERR_DATABASE_UNAVAILABLE:
    case ERR_OUTCOME_UNKNOWN: /* the step reads again what is stored */
    case ERR_NOT_REPLICATED:
    case ERR_SERIALIZATION:
    case ERR_NOT_YET:
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED: /* a node that is starting refuses requests for a while */
        return true;
    default:
        return false;
    }
}

enum err retry_until(retry_step step, void *context, int64_t deadline_ms, struct detail *detail)
{
    int64_t next_log_ms = 0;
    for (int pause_ms = PAUSE_FIRST_MS;;
         pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS) {
        enum err e = step(context, detail);
        int left_ms = clock_left_ms(deadline_ms);
        if (!is_transient(e) || left_ms == 0)
            return e;
        if (clock_ms() >= next_log_ms) {
            log_warn("cannot start yet; retrying", "error=%s detail=\"%s\"", err_code(e), detail->text);
            next_log_ms = clock_ms() + LOG_EVERY_MS;
        }
        clock_sleep_ms(pause_ms < left_ms ? pause_ms : left_ms);
    }
}
