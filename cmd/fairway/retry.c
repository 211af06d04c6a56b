/* How long to wait between two tries of a step. Knows no step. */
#include "start.h"

#include "base/clock.h"
#include "base/log.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 1000
#define LOG_EVERY_MS 5000

enum err retry_until(retry_step step, void *context, int64_t deadline_ms, struct detail *detail)
{
    int64_t next_log_ms = 0;
    for (int pause_ms = PAUSE_FIRST_MS;;
         pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS) {
        enum err e = step(context, detail);
        int left_ms = clock_left_ms(deadline_ms);
        if (!err_is_transient(e) || left_ms == 0)
            return e;
        if (clock_ms() >= next_log_ms) {
            log_warn("cannot start yet; retrying", "error=%s detail=\"%s\"", err_code(e), detail->text);
            next_log_ms = clock_ms() + LOG_EVERY_MS;
        }
        clock_sleep_ms(pause_ms < left_ms ? pause_ms : left_ms);
    }
}
