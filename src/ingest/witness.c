/* Compares what the RPCs of RPC_URL say of ledgers; witness_reads.c has accounts. None of them is believed
 * alone while another one answers. */
#include "witness.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "ingester.h"

/* ---- the RPCs */

void witness_order(const struct witness *witness, size_t order[RPC_ADDRESSES_MAX])
{
    const size_t followed = witness->followed, second = witness->confirmed_by;
    size_t count = 0;
    order[count++] = followed;
    if (second != followed)
        order[count++] = second;
    for (size_t i = 0; i < witness->count; i++)
        if (i != followed && i != second)
            order[count++] = i;
}

const struct feed *witness_asked(const struct witness *witness, size_t i)
{
    return i == witness->followed ? &witness->rpcs[i].feed : &witness->rpcs[i].check;
}

bool witness_asks(const struct witness *witness, size_t i)
{
    return clock_left_ms(witness->rpcs[i].left_out_ms) == 0;
}

/* Follows rpcs[i], which takes part then. why: of the one that was followed. */
static void witness_follow(struct witness *witness, size_t i, const char *why)
{
    log_warn("ledgers are read from another RPC of RPC_URL", "failed=%zu next=%zu reason=\"%s\"",
        witness->followed + 1, i + 1, why);
    witness->rpcs[i].left_out_ms = 0;
    witness->followed = i;
}

/* Notes that rpcs[i] has confirmed a ledger: it takes part, and is asked first. */
static void witness_confirms(struct witness *witness, size_t i)
{
    struct witness_rpc *rpc = &witness->rpcs[i];
    if (rpc->left_out_ms != 0)
        log_info("an RPC has the latest ledger again; it takes part again", "rpc=%zu", i + 1);
    rpc->left_out_ms = 0;
    witness->confirmed_by = i;
    outage_end(&witness->unconfirmed);
}

void witness_leave_out(struct witness *witness, size_t i)
{
    witness->rpcs[i].left_out_ms = clock_ms() + WITNESS_GIVE_UP_MS;
}

/* Leaves out all but the one that is followed, and logs that if it changes anything. */
static void witness_leave_out_others(struct witness *witness)
{
    if (!witness_alone(witness))
        log_warn("no other RPC of RPC_URL has confirmed ledgers for long; one is believed alone until "
                 "another does",
            "rpc=%zu", witness->followed + 1);
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->followed)
            witness_leave_out(witness, i);
}

bool witness_alone(const struct witness *witness)
{
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->followed && witness->rpcs[i].left_out_ms == 0)
            return false;
    return true;
}

bool witness_is_rpc_error(enum err e)
{
    return e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED;
}

/* ---- RPCs that are late */

/*
 * An RPC is late when it returns the network's ledgers, each long after another RPC does. A ledger
 * that has waited for it is too old for grants.
 *
 * A clock may be wrong, and an RPC can name any number as that of its latest ledger. So neither proves that
 * another RPC is late. The hash of a ledger does: nobody knows it before the ledger has closed. An RPC is
 * late if another one had returned the hash WITNESS_LATE_MS before it had the ledger.
 */

/* RPCs of one network may be one ledger apart for a moment. */
#define LEDGERS_APART 2
/* Between requests for the latest ledger of an RPC. */
#define MARK_AGAIN_MS 5000

static bool has_ended(const struct witness_mark *mark, const struct rpc_ledgers *answer, int64_t now)
{
    const bool passed = answer->count > 0 && answer->items[0].sequence > mark->sequence;
    return passed || now - mark->seen_ms > WITNESS_UNSEEN_MS || now - mark->since_ms > WITNESS_MARK_MS;
}

/* Notes which ledgers rpcs[i] has. Returns whether it is late. */
static bool witness_is_late(struct witness *witness, size_t i, const struct rpc_ledgers *answer)
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

/* Compares the latest ledgers of the RPC that is followed and of rpcs[i], after both were asked for the same
 * ones. If one is some ledgers ahead, and the other was asked for its latest, asks the first for its latest,
 * and remembers that. */
static void witness_mark_lead(
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

/* Leaves rpcs[i] out, which is late. If it is followed, the one that was ahead of it is from now on. */
static void witness_leave_out_late(struct witness *witness, size_t i)
{
    log_warn("an RPC of RPC_URL returns ledgers late; it is left out until it returns them in time",
        "rpc=%zu", i + 1);
    if (i == witness->followed)
        witness_follow(witness, witness->mark.ahead, "its ledgers are late");
    witness_leave_out(witness, i);
}

/* ---- ledgers: compared */

/* theirs: of RPC i. */
static enum err compare(const struct witness *witness, size_t i, struct rpc_ledgers *fetched,
    const struct rpc_ledgers *theirs, struct detail *detail)
{
    size_t same = 0;
    for (; same < fetched->count && same < theirs->count; same++) {
        const struct rpc_ledger *a = &fetched->items[same], *b = &theirs->items[same];
        char ours[HASH_HEX_SIZE], other[HASH_HEX_SIZE];
        if (a->sequence != b->sequence)
            break;
        if (hash_equal(&a->hash, &b->hash))
            continue;
        hash_encode(&a->hash, ours);
        hash_encode(&b->hash, other);
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "ledger %" PRIu32
            " has the hash %.16s... at RPC %zu of RPC_URL and %.16s... at RPC %zu: find out which one"
            " is wrong and remove it",
            a->sequence, ours, witness->followed + 1, other, i + 1);
    }
    if (same == 0)
        return ERR_LEDGER_AHEAD;
    fetched->count = same;
    return ERR_OK;
}

/* After an error, fewer ledgers are requested: they may be too large for the time. */
static void adapt_fetch(struct witness *witness, enum err e)
{
    if (witness_is_rpc_error(e))
        witness->fetch_limit = 1;
    else if (e == ERR_OK && witness->fetch_limit < INGESTER_FETCH_MAX)
        witness->fetch_limit++;
}

static enum err compare_with(
    struct witness *witness, size_t i, struct rpc_ledgers *fetched, struct detail *detail)
{
    struct rpc_ledgers theirs CLEANUP(rpc_ledgers_free) = {0};
    const struct feed *other = witness_asked(witness, i);
    enum err e =
        other->ledgers(other->source, fetched->items[0].sequence, (uint32_t)fetched->count, &theirs, NULL);
    adapt_fetch(witness, e);
    const bool late = witness_is_late(witness, i, &theirs);
    if (e == ERR_OK || e == ERR_LEDGER_AHEAD)
        witness_mark_lead(witness, i, fetched, &theirs);
    if (e == ERR_OK)
        e = compare(witness, i, fetched, &theirs, detail);
    if (e == ERR_OK)
        witness_confirms(witness, i);
    if (late)
        witness_leave_out_late(witness, i);
    return e;
}

/* None has the same. With a third RPC, the next step asks it about what the second one says. */
static enum err contradicted(struct witness *witness, size_t by)
{
    if (witness->count > 2)
        witness_follow(witness, by, "another RPC has another hash for the ledger");
    return ERR_LEDGER_MISMATCH;
}

/* One that has the same is enough. */
static enum err compare_ledgers(struct witness *witness, struct rpc_ledgers *fetched, struct detail *detail)
{
    size_t order[RPC_ADDRESSES_MAX], differs = witness->followed;
    bool waits = false; /* for one that takes part */
    witness_order(witness, order);
    for (size_t k = 1; k < witness->count; k++) {
        const size_t i = order[k];
        if (!witness_asks(witness, i))
            continue;
        enum err e = compare_with(witness, i, fetched, detail);
        if (e == ERR_OK || e == ERR_CANCELLED)
            return e;
        if (e == ERR_LEDGER_MISMATCH)
            differs = i;
        else if (witness->rpcs[i].left_out_ms != 0)
            witness_leave_out(witness, i);
        else
            waits = true;
    }
    const bool lasts = waits && outage_lasts(&witness->unconfirmed, clock_ms());
    if (waits && !lasts)
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has the ledger yet");
    if (differs != witness->followed)
        return contradicted(witness, differs);
    if (lasts)
        witness_leave_out_others(witness);
    return ERR_OK;
}

/* ---- ledgers: which RPC returns them */

/* An RPC that does not have the ledger before start lacks ledgers that were committed. */
static bool is_behind(uint32_t start, const struct rpc_ledgers *answer)
{
    return answer->latest_ledger < start - 1;
}

/* A search for a ledger that the RPC that is followed has not returned. */
struct search {
    uint32_t start;
    enum err e;        /* of the one that is followed */
    bool behind;       /* it is */
    bool lasts;        /* no ledger has come for the limit */
    bool dropped;      /* another one has dropped the ledger */
    size_t not_closed; /* another one, which is not behind, says that the ledger has not closed yet: its place
                        * in RPC_URL, from 1; 0: none */
};

/*
 * No RPC has the ledger, and the one that is followed says that it has dropped it. A recovery from a gap ends
 * leases by what RPCs say about accounts. So one that lies, or has stopped, must not cause it alone.
 */
static enum err unconfirmed_gap(struct witness *witness, const struct search *search, struct detail *detail)
{
    if (!search->lasts && (search->not_closed != 0 || !witness_alone(witness)))
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has dropped the ledger");
    if (search->not_closed != 0)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "RPC %zu of RPC_URL has dropped ledger %" PRIu32 ", and RPC %zu says that it has not closed yet:"
            " find out which one is wrong and remove it",
            witness->followed + 1, search->start, search->not_closed);
    witness_leave_out_others(witness);
    return ERR_LEDGER_GAP;
}

/* Returns whether this answer of RPC i ends the search. Then that RPC is followed. */
static bool search_ends(struct search *search, size_t i, enum err answer, const struct rpc_ledgers *theirs)
{
    const bool up_to_date = answer == ERR_LEDGER_AHEAD && !is_behind(search->start, theirs);
    search->dropped |= answer == ERR_LEDGER_GAP;
    if (up_to_date)
        search->not_closed = i + 1;
    return answer == ERR_OK || (up_to_date && (search->behind || witness_is_rpc_error(search->e)));
}

/* One ledger a request: others have less time for an answer. */
static enum err fetch_elsewhere(
    struct witness *witness, struct search *search, struct rpc_ledgers *out, struct detail *detail)
{
    size_t order[RPC_ADDRESSES_MAX];
    witness_order(witness, order);
    for (size_t k = 1; k < witness->count; k++) {
        struct rpc_ledgers theirs = {0};
        const struct feed *other = witness_asked(witness, order[k]);
        const enum err answer = other->ledgers(other->source, search->start, 1, &theirs, NULL);
        if (search_ends(search, order[k], answer, &theirs)) {
            witness_follow(witness, order[k], err_code(search->e));
            rpc_ledgers_free(out);
            *out = theirs;
            return answer;
        }
        rpc_ledgers_free(&theirs);
        if (answer == ERR_CANCELLED)
            return answer;
    }
    if (search->e != ERR_LEDGER_GAP || search->dropped)
        return search->e;
    return unconfirmed_gap(witness, search, detail);
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct witness *witness = source;
    const struct feed *followed = witness_asked(witness, witness->followed);
    enum err e = followed->ledgers(
        followed->source, start, limit < witness->fetch_limit ? limit : witness->fetch_limit, out, detail);
    adapt_fetch(witness, e);
    if (witness_is_late(witness, witness->followed, out)) {
        witness_leave_out_late(witness, witness->followed);
        return ERR_LEDGER_AHEAD; /* what it has returned is not compared with the others any more */
    }
    if (e != ERR_OK && e != ERR_CANCELLED) {
        struct search search = {.start = start,
            .e = e,
            .behind = e == ERR_LEDGER_AHEAD && is_behind(start, out),
            .lasts = outage_lasts(&witness->stalled, clock_ms())};
        if (e != ERR_LEDGER_AHEAD || search.behind || search.lasts)
            e = fetch_elsewhere(witness, &search, out, detail);
    }
    if (e != ERR_OK)
        return e;
    outage_end(&witness->stalled);
    return compare_ledgers(witness, out, detail);
}

static void distrust(void *source)
{
    struct witness *witness = source;
    size_t order[RPC_ADDRESSES_MAX];
    witness_order(witness, order);
    witness_follow(witness, order[1], "a ledger does not prove itself");
}

/* ---- transactions and the network */

static bool same_transaction(const struct rpc_transaction *a, const struct rpc_transaction *b)
{
    return a->status == b->status && a->code == b->code && a->ledger == b->ledger;
}

/*
 * A client may pay again because of the result. One that no other RPC confirms is therefore not found, unless
 * it is the one that is followed and all others are left out.
 */
static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct witness *witness = source;
    const bool alone = witness_alone(witness);
    size_t order[RPC_ADDRESSES_MAX];
    witness_order(witness, order);
    const struct feed *rpc = witness_asked(witness, order[0]);
    enum err e = rpc->transaction(rpc->source, hash, out, detail);
    bool found = e == ERR_OK && out->status != RPC_TRANSACTION_NOT_FOUND;
    for (size_t k = 1; k < witness->count && !alone && (found || witness_is_rpc_error(e)); k++) {
        struct rpc_transaction theirs;
        rpc = witness_asked(witness, order[k]);
        const enum err answer = rpc->transaction(rpc->source, hash, &theirs, NULL);
        if (answer == ERR_CANCELLED || (answer == ERR_OK && found && same_transaction(out, &theirs)))
            return answer;
        if (answer == ERR_OK && !found) {
            *out = theirs;
            e = ERR_OK;
            found = theirs.status != RPC_TRANSACTION_NOT_FOUND;
        }
    }
    if (e == ERR_OK && !alone)
        out->status = RPC_TRANSACTION_NOT_FOUND;
    return e;
}

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    const struct witness *witness = source;
    size_t order[RPC_ADDRESSES_MAX];
    enum err e = ERR_RPC_UNAVAILABLE;
    witness_order(witness, order);
    for (size_t k = 0; k < witness->count && witness_is_rpc_error(e); k++) {
        const struct feed *rpc = witness_asked(witness, order[k]);
        e = rpc->network(rpc->source, out, detail);
    }
    return e;
}

struct witness witness_init(void)
{
    const struct outage none = {.limit_ms = WITNESS_GIVE_UP_MS};
    return (struct witness){.fetch_limit = INGESTER_FETCH_MAX,
        .stalled = none,
        .unconfirmed = none,
        .unread_recovering = none,
        .unread_confirming = {.limit_ms = WITNESS_CONFIRM_MS}};
}

struct feed witness_feed(struct witness *witness)
{
    return (struct feed){ledgers, network, witness_accounts, witness_frozen, transaction, distrust, witness};
}
