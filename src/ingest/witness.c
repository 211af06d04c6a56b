#include "witness.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"
#include "witness_others.h"
#include "witness_reads.h"

/* ---- ledgers */

static enum err compare(struct rpc_ledgers *fetched, const struct rpc_ledgers *theirs, struct detail *detail)
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
            "ledger %" PRIu32 " has the hash %.16s... at one RPC of RPC_URL and %.16s... at another: find out"
            " which one is wrong and remove it",
            a->sequence, ours, other);
    }
    if (same == 0)
        return ERR_LEDGER_AHEAD;
    fetched->count = same;
    return ERR_OK;
}

/* Compares with the first that answers, except the one that they are from. */
static enum err compare_ledgers(
    struct witness *witness, size_t except, struct rpc_ledgers *fetched, struct detail *detail)
{
    for (size_t i = 0; i < witness->count; i++) {
        struct rpc_ledgers theirs CLEANUP(rpc_ledgers_free) = {0};
        const struct feed *other = &witness->others[i];
        if (i == except || !witness_asks(witness, i))
            continue;
        enum err e = other->ledgers(
            other->source, fetched->items[0].sequence, (uint32_t)fetched->count, &theirs, NULL);
        if (e == ERR_OK)
            e = compare(fetched, &theirs, detail);
        if (e == ERR_OK)
            witness_answered(witness);
        if (e == ERR_OK || e == ERR_LEDGER_MISMATCH || e == ERR_CANCELLED)
            return e;
    }
    return witness_missing(witness, ERR_LEDGER_AHEAD, detail);
}

/* No other RPC has returned the ledger. A gap that none confirms is waited out: until it closes a ledger, the
 * network may not have the one that main says it has dropped. */
static enum err not_found(struct witness *witness, enum err e, bool confirmed, struct detail *detail)
{
    if (e != ERR_LEDGER_GAP || confirmed || witness_given_up(witness))
        return e;
    const enum err wait = witness_missing(witness, ERR_LEDGER_AHEAD, detail);
    return wait == ERR_OK ? e : wait;
}

/*
 * Main does not have the ledger: e says why, and is the result if no other RPC has it. One ledger a request:
 * an answer has less time than main's.
 */
static enum err fetch_elsewhere(
    struct witness *witness, uint32_t start, enum err e, struct rpc_ledgers *out, struct detail *detail)
{
    bool confirmed = false;
    for (size_t i = 0; i < witness->count; i++) {
        struct rpc_ledgers theirs = {0};
        const struct feed *other = &witness->others[i];
        if (!witness_asks(witness, i))
            continue;
        enum err answer = other->ledgers(other->source, start, 1, &theirs, NULL);
        if (answer == ERR_OK) {
            rpc_ledgers_free(out);
            *out = theirs;
            return witness_given_up(witness) ? ERR_OK : compare_ledgers(witness, i, out, detail);
        }
        rpc_ledgers_free(&theirs);
        if (answer == ERR_CANCELLED)
            return answer;
        confirmed |= answer == ERR_LEDGER_GAP;
    }
    return not_found(witness, e, confirmed, detail);
}

/*
 * Main has dropped the ledger, or says so: a recovery from the gap would end leases by what main says about
 * accounts. Or main has returned no new ledger for so long that it may have stopped following the network, or
 * refuses for ever what another one answers.
 */
static bool looks_elsewhere(struct witness *witness, enum err e)
{
    if (e == ERR_OK)
        outage_end(&witness->stalled);
    const bool no_ledger = e == ERR_LEDGER_AHEAD || witness_is_rpc_error(e);
    return e == ERR_LEDGER_GAP || (no_ledger && outage_lasts(&witness->stalled, clock_ms()));
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct witness *witness = source;
    enum err e = witness->main.ledgers(witness->main.source, start, limit, out, detail);
    if (looks_elsewhere(witness, e))
        return fetch_elsewhere(witness, start, e, out, detail);
    if (e == ERR_OK && out->count > 0 && !witness_given_up(witness))
        e = compare_ledgers(witness, WITNESS_NONE, out, detail);
    return e;
}

/* ---- transactions and the network */

static bool same_transaction(const struct rpc_transaction *a, const struct rpc_transaction *b)
{
    return a->status == b->status && a->code == b->code && a->ledger == b->ledger;
}

/* A client may pay again because of the result. One that no other RPC confirms is therefore not found. */
static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct witness *witness = source;
    enum err e = witness->main.transaction(witness->main.source, hash, out, detail);
    if (e != ERR_OK || out->status == RPC_TRANSACTION_NOT_FOUND || witness_given_up(witness))
        return e;
    for (size_t i = 0; i < witness->count; i++) {
        struct rpc_transaction theirs;
        const struct feed *other = &witness->others[i];
        if (!witness_asks(witness, i))
            continue;
        e = other->transaction(other->source, hash, &theirs, NULL);
        if (e == ERR_CANCELLED || (e == ERR_OK && same_transaction(out, &theirs)))
            return e;
    }
    out->status = RPC_TRANSACTION_NOT_FOUND;
    return ERR_OK;
}

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    const struct witness *witness = source;
    return witness->main.network(witness->main.source, out, detail);
}

struct feed witness_feed(struct witness *witness)
{
    return (struct feed){ledgers, network, witness_accounts, witness_frozen, transaction, witness};
}
