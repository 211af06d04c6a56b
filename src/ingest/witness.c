#include "witness.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

static bool asks(const struct witness *witness, size_t i)
{
    return witness->rpc == NULL || rpc_address(witness->rpc) != i + 1;
}

static void answered(struct witness *witness)
{
    if (witness->next_try_ms != 0)
        log_info("a second RPC responds again; ledgers are compared again", NULL);
    patience_restore(&witness->patience);
    witness->next_try_ms = 0;
}

/* No other RPC answered. Until the patience ends, nothing of main is used: main may have invented it. */
static enum err missing(struct witness *witness, enum err wait, struct detail *detail)
{
    const int64_t now = clock_ms();
    if (!patience_ended(&witness->patience, now))
        return detail_set(detail, wait, "no other RPC of RPC_URL has answered yet");
    if (witness->next_try_ms == 0)
        log_warn("no second RPC responds, or it lags; ledgers are not compared until one does",
            "waited_ms=%" PRId64, now - witness->patience.since_ms);
    witness->next_try_ms = now + witness->patience.limit_ms;
    return ERR_OK;
}

/* Once patience has ended, most ledgers pass without a request that may take its timeout. */
static bool is_given_up(const struct witness *witness)
{
    return witness->count == 0 || (witness->next_try_ms != 0 && clock_left_ms(witness->next_try_ms) > 0);
}

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
        if (i == except || !asks(witness, i))
            continue;
        enum err e = other->ledgers(
            other->source, fetched->items[0].sequence, (uint32_t)fetched->count, &theirs, NULL);
        if (e == ERR_OK)
            e = compare(fetched, &theirs, detail);
        if (e == ERR_OK)
            answered(witness);
        if (e == ERR_OK || e == ERR_LEDGER_MISMATCH || e == ERR_CANCELLED)
            return e;
    }
    return missing(witness, ERR_LEDGER_AHEAD, detail);
}

/* No other RPC has returned the ledger. A gap that none confirms is waited out: until it closes a ledger, the
 * network may not have the one that main says it has dropped. */
static enum err not_found(struct witness *witness, enum err e, bool confirmed, struct detail *detail)
{
    if (e != ERR_LEDGER_GAP || confirmed || is_given_up(witness))
        return e;
    const enum err wait = missing(witness, ERR_LEDGER_AHEAD, detail);
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
        if (!asks(witness, i))
            continue;
        enum err answer = other->ledgers(other->source, start, 1, &theirs, NULL);
        if (answer == ERR_OK) {
            rpc_ledgers_free(out);
            *out = theirs;
            return is_given_up(witness) ? ERR_OK : compare_ledgers(witness, i, out, detail);
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
 * accounts. Or main has had no new ledger for so long that it may have stopped following the network.
 */
static bool looks_elsewhere(struct witness *witness, enum err e)
{
    if (e == ERR_OK)
        patience_restore(&witness->stalled);
    return e == ERR_LEDGER_GAP || (e == ERR_LEDGER_AHEAD && patience_ended(&witness->stalled, clock_ms()));
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct witness *witness = source;
    enum err e = witness->main.ledgers(witness->main.source, start, limit, out, detail);
    if (looks_elsewhere(witness, e))
        return fetch_elsewhere(witness, start, e, out, detail);
    if (e == ERR_OK && out->count > 0 && !is_given_up(witness))
        e = compare_ledgers(witness, RPC_ADDRESSES_MAX, out, detail);
    return e;
}

static bool same_account(const struct rpc_account *a, const struct rpc_account *b)
{
    return a->found == b->found &&
           (!a->found || (a->sequence == b->sequence && a->own_authority == b->own_authority));
}

static enum err compare_accounts(const struct public_key keys[], size_t count,
    const struct rpc_account answers[], const struct rpc_account theirs[], struct detail *detail)
{
    char address[ADDRESS_SIZE];
    for (size_t i = 0; i < count; i++) {
        if (same_account(&answers[i], &theirs[i]))
            continue;
        address_encode(&keys[i], address);
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "two RPCs of RPC_URL differ about account %s: nothing is changed until they agree", address);
    }
    return ERR_OK;
}

/*
 * What several RPCs answered as of ledgers that may differ. The first that answers as of the ledger of main's
 * answer, or of a later one, decides. Without one, an RPC that lags and answers the same confirms main's
 * answer as of its own ledger.
 */
struct agreement {
    uint32_t ledger;  /* of main's answer */
    uint32_t lagging; /* the latest earlier ledger as of which another RPC answers the same; 0: none */
    enum err differs; /* the result of comparing with an RPC that lags, if it differs; detail is set */
};

/* Returns whether this answer decides, with the result in *e. */
static bool agreement_add(struct agreement *agreement, uint32_t as_of, enum err *e)
{
    if (as_of >= agreement->ledger)
        return true;
    if (*e != ERR_OK)
        agreement->differs = *e;
    else if (as_of > agreement->lagging)
        agreement->lagging = as_of;
    return false;
}

/* After all RPCs were asked, and none decided. */
static enum err agreement_end(
    struct witness *witness, const struct agreement *agreement, uint32_t *ledger, struct detail *detail)
{
    if (agreement->lagging == 0 && agreement->differs == ERR_OK)
        return missing(witness, ERR_RPC_UNAVAILABLE, detail);
    if (agreement->lagging == 0)
        return agreement->differs;
    *ledger = agreement->lagging;
    return ERR_OK;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
    uint32_t *ledger, struct detail *detail)
{
    struct witness *witness = source;
    struct rpc_account theirs[RPC_ENTRIES_MAX];
    enum err e = witness->main.accounts(witness->main.source, keys, count, out, ledger, detail);
    if (e != ERR_OK || is_given_up(witness))
        return e;
    struct agreement agreement = {.ledger = *ledger};
    for (size_t i = 0; i < witness->count; i++) {
        uint32_t as_of = 0;
        const struct feed *other = &witness->others[i];
        if (!asks(witness, i))
            continue;
        e = other->accounts(other->source, keys, count, theirs, &as_of, NULL);
        if (e == ERR_CANCELLED)
            return e;
        if (e != ERR_OK)
            continue;
        e = compare_accounts(keys, count, out, theirs, detail);
        if (agreement_add(&agreement, as_of, &e))
            return e;
    }
    return agreement_end(witness, &agreement, ledger, detail);
}

static bool same_frozen(const struct frozen_accounts *a, const struct frozen_accounts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = public_key_equal(&a->keys[i], &b->keys[i]);
    return same;
}

static enum err compare_frozen(
    const struct frozen_accounts *ours, const struct frozen_accounts *theirs, struct detail *detail)
{
    if (same_frozen(ours, theirs))
        return ERR_OK;
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "two RPCs of RPC_URL differ about the frozen keys: nothing is changed until they agree");
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct witness *witness = source;
    enum err e = witness->main.frozen(witness->main.source, out, ledger, detail);
    if (e != ERR_OK || is_given_up(witness))
        return e;
    struct agreement agreement = {.ledger = *ledger};
    for (size_t i = 0; i < witness->count; i++) {
        struct frozen_accounts theirs CLEANUP(frozen_accounts_free) = {0};
        uint32_t as_of = 0;
        const struct feed *other = &witness->others[i];
        if (!asks(witness, i))
            continue;
        e = other->frozen(other->source, &theirs, &as_of, NULL);
        if (e == ERR_CANCELLED)
            return e;
        if (e != ERR_OK)
            continue;
        e = compare_frozen(out, &theirs, detail);
        if (agreement_add(&agreement, as_of, &e))
            return e;
    }
    return agreement_end(witness, &agreement, ledger, detail);
}

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    const struct witness *witness = source;
    return witness->main.network(witness->main.source, out, detail);
}

static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    const struct witness *witness = source;
    return witness->main.transaction(witness->main.source, hash, out, detail);
}

struct feed witness_feed(struct witness *witness)
{
    return (struct feed){ledgers, network, accounts, frozen, transaction, witness};
}
