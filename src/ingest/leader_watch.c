#include "leader_watch.h"

#include "base/clock.h"
#include "base/mem.h"

#define GAP_FACTOR 10

bool leader_watch_note(struct leader_watch *watch, const struct cursor_snapshot *cursor, int64_t now_ms)
{
    if (!cursor->known || cursor->sequence != watch->sequence || watch->since_ms == 0) {
        watch->sequence = cursor->sequence;
        watch->since_ms = now_ms;
    }
    return cursor->known && now_ms - watch->since_ms >= watch->stale_ms;
}

bool leader_watch_decide(const struct leader_watch *watch, enum err due, int64_t now_ms)
{
    const int64_t waited_ms = now_ms - watch->since_ms;
    if (due == ERR_LEDGER_GAP)
        return waited_ms >= watch->stale_ms * GAP_FACTOR;
    return due == ERR_OK && waited_ms >= watch->stale_ms;
}

bool leader_watch_stalled(
    struct leader_watch *watch, const struct cursor_snapshot *cursor, const struct feed *feed)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    struct detail ignored;
    if (!leader_watch_note(watch, cursor, clock_ms()))
        return false;
    const enum err due = feed->ledgers(feed->source, cursor->sequence + 1, 1, &ledgers, &ignored);
    return leader_watch_decide(watch, due, clock_ms());
}
