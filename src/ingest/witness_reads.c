/* The reads of a witness: of accounts, and of the list of frozen keys. Ledgers are compared in witness.c. */
#include "witness.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* What is asked. */
struct question {
    const struct public_key *keys;
    size_t count;  /* 0: the list of frozen keys */
    bool confirms; /* what a ledger of the RPC that is followed reports */
};

struct answer {
    size_t rpc;      /* whose: its place in RPC_URL, from 1 */
    uint32_t ledger; /* as of which */
    struct rpc_account accounts[RPC_ENTRIES_MAX];
    struct frozen_accounts frozen;
};

static void answer_free(struct answer *answer)
{
    frozen_accounts_free(&answer->frozen);
}

static enum err ask(const struct witness *witness, size_t i, const struct question *question,
    struct answer *out, struct detail *detail)
{
    const struct feed *feed = witness_asked(witness, i);
    *out = (struct answer){.rpc = i + 1};
    if (question->count == 0)
        return feed->frozen(feed->source, &out->frozen, &out->ledger, detail);
    return feed->accounts(feed->source, question->keys, question->count, out->accounts, &out->ledger, detail);
}

static bool same_account(const struct rpc_account *a, const struct rpc_account *b)
{
    return a->found == b->found &&
           (!a->found || (a->sequence == b->sequence && a->own_authority == b->own_authority));
}

static bool same_frozen(const struct frozen_accounts *a, const struct frozen_accounts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = public_key_equal(&a->keys[i], &b->keys[i]);
    return same;
}

static enum err compare_answers(const struct question *question, const struct answer *ours,
    const struct answer *theirs, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    for (size_t i = 0; i < question->count; i++) {
        if (same_account(&ours->accounts[i], &theirs->accounts[i]))
            continue;
        address_encode(&question->keys[i], address);
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "RPCs %zu and %zu of RPC_URL differ about account %s: nothing is changed until they agree",
            ours->rpc, theirs->rpc, address);
    }
    if (!same_frozen(&ours->frozen, &theirs->frozen))
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "RPCs %zu and %zu of RPC_URL differ about the frozen keys: nothing is changed until they agree",
            ours->rpc, theirs->rpc);
    return ERR_OK;
}

/*
 * What several RPCs answered as of ledgers that may differ. The first that answers as of the ledger of the
 * first answer, or of a later one, decides. Without one, an RPC that lags and answers the same confirms the
 * first answer as of its own ledger.
 */
struct agreement {
    uint32_t ledger;  /* of the first answer */
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

static struct outage *outage_of(struct witness *witness, const struct question *question)
{
    return question->confirms ? &witness->unread_confirming : &witness->unread_recovering;
}

/* One RPC has answered, and no other one. waits: for one that takes part. */
static enum err not_compared(struct witness *witness, const struct question *question, bool is_followed,
    bool waits, struct detail *detail)
{
    const bool enough = is_followed ? !waits : question->confirms;
    if (enough || outage_lasts(outage_of(witness, question), clock_ms()))
        return ERR_OK;
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "no other RPC of RPC_URL has answered yet");
}

/* Asks the RPCs in their order until one answers: *k is its place in the order. */
static enum err ask_first(struct witness *witness, const size_t order[], const struct question *question,
    struct answer *out, size_t *k, struct detail *detail)
{
    enum err e = ask(witness, order[0], question, out, detail);
    *k = 0;
    for (size_t next = 1; next < witness->count && witness_is_rpc_error(e); next++) {
        if (!witness_asks(witness, order[next]))
            continue;
        answer_free(out);
        const enum err answer = ask(witness, order[next], question, out, NULL);
        if (witness_is_rpc_error(answer))
            continue;
        *k = next;
        e = answer;
    }
    return e;
}

/* Asks one RPC and compares its answer with those of the ones after it in the order. The caller frees *out,
 * also after an error. */
static enum err ask_and_compare(
    struct witness *witness, const struct question *question, struct answer *out, struct detail *detail)
{
    size_t order[RPC_ADDRESSES_MAX], first;
    bool waits = false;
    witness_order(witness, order);
    enum err e = ask_first(witness, order, question, out, &first, detail);
    if (e != ERR_OK)
        return e;
    struct agreement agreement = {.ledger = out->ledger};
    for (size_t k = first + 1; k < witness->count; k++) {
        struct answer theirs CLEANUP(answer_free) = {0};
        if (!witness_asks(witness, order[k]))
            continue;
        e = ask(witness, order[k], question, &theirs, NULL);
        if (e == ERR_CANCELLED)
            return e;
        if (e != ERR_OK && witness->rpcs[order[k]].left_out_ms != 0)
            witness_leave_out(witness, order[k]);
        else
            waits = true;
        if (e != ERR_OK)
            continue;
        e = compare_answers(question, out, &theirs, detail);
        if (e == ERR_OK)
            outage_end(outage_of(witness, question));
        if (agreement_add(&agreement, theirs.ledger, &e))
            return e;
    }
    if (agreement.lagging != 0)
        out->ledger = agreement.lagging;
    else if (agreement.differs == ERR_OK)
        return not_compared(witness, question, first == 0, waits, detail);
    return agreement.lagging != 0 ? ERR_OK : agreement.differs;
}

static enum err read_accounts(struct witness *witness, const struct question *question,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail)
{
    struct answer answer CLEANUP(answer_free) = {0};
    enum err e = ask_and_compare(witness, question, &answer, detail);
    *ledger = answer.ledger;
    memcpy(out, answer.accounts, question->count * sizeof out[0]);
    return e;
}

static enum err read_frozen(struct witness *witness, bool confirms, struct frozen_accounts *out,
    uint32_t *ledger, struct detail *detail)
{
    struct answer answer CLEANUP(answer_free) = {0};
    const struct question question = {NULL, 0, confirms};
    enum err e = ask_and_compare(witness, &question, &answer, detail);
    *ledger = answer.ledger;
    *out = answer.frozen;
    answer.frozen = (struct frozen_accounts){0};
    return e;
}

enum err witness_accounts(void *source, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail)
{
    return read_accounts(source, &(struct question){keys, count, false}, out, ledger, detail);
}

enum err witness_frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    return read_frozen(source, false, out, ledger, detail);
}

static enum err confirm_accounts(void *source, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail)
{
    return read_accounts(source, &(struct question){keys, count, true}, out, ledger, detail);
}

static enum err confirm_frozen(
    void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    return read_frozen(source, true, out, ledger, detail);
}

struct feed witness_confirm_feed(struct witness *witness)
{
    struct feed feed = witness_feed(witness);
    feed.accounts = confirm_accounts;
    feed.frozen = confirm_frozen;
    return feed;
}
