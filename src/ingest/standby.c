#include "standby.h"

#define GAP_PATIENCE 10

bool standby_saw(struct standby *standby, const struct cursor_sight *sight, int64_t now_ms)
{
    if (!sight->known || sight->sequence != standby->sequence || standby->since_ms == 0) {
        standby->sequence = sight->sequence;
        standby->since_ms = now_ms;
    }
    return sight->known && now_ms - standby->since_ms >= standby->patience_ms;
}

bool standby_takes_over(const struct standby *standby, enum err due, int64_t now_ms)
{
    int64_t waited_ms = now_ms - standby->since_ms;
    if (due == ERR_LEDGER_GAP)
        return waited_ms >= standby->patience_ms * GAP_PATIENCE;
    return due == ERR_OK && waited_ms >= standby->patience_ms;
}
