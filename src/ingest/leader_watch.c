#include "leader_watch.h"

#define GAP_PATIENCE 10

bool leader_watch_saw(struct leader_watch *standby, const struct cursor_snapshot *sight, int64_t now_ms)
{
    if (!sight->known || sight->sequence != standby->sequence || standby->since_ms == 0) {
        standby->sequence = sight->sequence;
        standby->since_ms = now_ms;
    }
    return sight->known && now_ms - standby->since_ms >= standby->patience_ms;
}

bool leader_watch_takes_over(const struct leader_watch *standby, enum err due, int64_t now_ms)
{
    int64_t waited_ms = now_ms - standby->since_ms;
    if (due == ERR_LEDGER_GAP)
        return waited_ms >= standby->patience_ms * GAP_PATIENCE;
    return due == ERR_OK && waited_ms >= standby->patience_ms;
}
