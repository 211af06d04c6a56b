#include "witness_late.h"

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "witness_rpcs.h"

/* RPCs of one network may be one ledger apart for a moment. */
#define LEDGERS_APART 2
/* Between requests for the latest ledger of an RPC. */
#define MARK_AGAIN_MS 5000

static bool has_ended(const struct witness_mark *mark, const struct rpc_ledgers *answer, int64_t now)
{
    const bool passed = answer->count > 0 && answer->items[0].sequence > mark->sequence;
    return passed || now - mark->seen_ms > WITNESS_UNSEEN_MS || now - mark->since_ms > WITNESS_MARK_MS;
}

bool witness_is_late(struct witness *witness, size_t i, const struct rpc_ledgers *answer)
{
    struct witness_mark *mark = &witness->mark;
    const int64_t now = clock_ms();
    if (mark->sequence == 0 || i != mark->behind)
        return false;
    if (has_ended(mark, answer, now))
        mark->sequence = 0;
    mark->seen_ms = now;
    if (mark->had_ms == 0 && answer->latest_ledger >= mark->sequence)
        mark->had_ms = now;
    for (size_t k = 0; k < answer->count && mark->sequence != 0; k++) {
        if (answer->items[k].sequence != mark->sequence)
            continue;
        mark->sequence = 0;
        return hash_equal(&answer->items[k].hash, &mark->hash) &&
               mark->had_ms - mark->since_ms >= WITNESS_LATE_MS;
    }
    return false;
}

static bool at_its_latest(const struct rpc_ledgers *answer)
{
    return answer->count == 0 || answer->items[answer->count - 1].sequence == answer->latest_ledger;
}

static void mark_latest(struct witness *witness, size_t ahead, size_t behind, uint32_t latest)
{
    struct rpc_ledgers tip CLEANUP(rpc_ledgers_free) = {0};
    struct witness_mark *mark = &witness->mark;
    const struct feed *rpc = witness_asked(witness, ahead);
    if (clock_left_ms(mark->next_ms) > 0)
        return;
    enum err e = rpc->ledgers(rpc->source, latest, 1, &tip, NULL);
    const int64_t now = clock_ms();
    mark->next_ms = now + MARK_AGAIN_MS;
    if (e != ERR_OK || tip.count == 0 || tip.items[0].sequence != latest)
        return;
    mark->ahead = ahead;
    mark->behind = behind;
    mark->sequence = latest;
    mark->hash = tip.items[0].hash;
    mark->since_ms = mark->seen_ms = now;
    mark->had_ms = 0;
}

void witness_mark_lead(
    struct witness *witness, size_t i, const struct rpc_ledgers *followed, const struct rpc_ledgers *theirs)
{
    const uint64_t ours = followed->latest_ledger, others = theirs->latest_ledger;
    if (witness->mark.sequence != 0)
        return;
    if (ours >= others + LEDGERS_APART && at_its_latest(theirs))
        mark_latest(witness, witness->followed, i, followed->latest_ledger);
    else if (others >= ours + LEDGERS_APART && at_its_latest(followed))
        mark_latest(witness, i, witness->followed, theirs->latest_ledger);
}

void witness_leave_out_late(struct witness *witness, size_t i)
{
    log_warn("an RPC of RPC_URL returns ledgers late; it is left out until it returns them in time",
        "rpc=%zu", i + 1);
    if (i == witness->followed)
        witness_follow(witness, witness->mark.ahead, "its ledgers are late");
    witness_leave_out(witness, i);
}
