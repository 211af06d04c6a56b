#include "witness_reads.h"

#include <string.h>

#include "base/mem.h"
#include "witness_others.h"

/* What is asked. */
struct question {
    const struct public_key *keys;
    size_t count; /* 0: the list of frozen keys */
};

struct answer {
    uint32_t ledger; /* as of which */
    struct rpc_account accounts[RPC_ENTRIES_MAX];
    struct frozen_accounts frozen;
};

static void answer_free(struct answer *answer)
{
    frozen_accounts_free(&answer->frozen);
}

static enum err ask(
    const struct feed *feed, const struct question *question, struct answer *out, struct detail *detail)
{
    *out = (struct answer){0};
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
            "two RPCs of RPC_URL differ about account %s: nothing is changed until they agree", address);
    }
    if (!same_frozen(&ours->frozen, &theirs->frozen))
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "two RPCs of RPC_URL differ about the frozen keys: nothing is changed until they agree");
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
        return witness_missing(witness, ERR_RPC_UNAVAILABLE, detail);
    if (agreement->lagging == 0)
        return agreement->differs;
    *ledger = agreement->lagging;
    return ERR_OK;
}

/* Asks main, or, if main fails, the first of the others that answers. *from is the index of that one in
 * others; of main, WITNESS_NONE. */
static enum err ask_first(struct witness *witness, const struct question *question, struct answer *out,
    size_t *from, struct detail *detail)
{
    enum err e = ask(&witness->main, question, out, detail);
    *from = WITNESS_NONE;
    for (size_t i = 0; i < witness->count && witness_is_rpc_error(e); i++) {
        if (!witness_asks(witness, i))
            continue;
        answer_free(out);
        const enum err answer = ask(&witness->others[i], question, out, NULL);
        if (witness_is_rpc_error(answer))
            continue;
        *from = i;
        e = answer;
    }
    return e;
}

/* Asks one RPC and compares its answer with those of the others. The caller frees *out, also after an error.
 */
static enum err ask_and_compare(
    struct witness *witness, const struct question *question, struct answer *out, struct detail *detail)
{
    size_t from;
    enum err e = ask_first(witness, question, out, &from, detail);
    if (e != ERR_OK || witness_given_up(witness))
        return e;
    struct agreement agreement = {.ledger = out->ledger};
    for (size_t i = 0; i < witness->count; i++) {
        struct answer theirs CLEANUP(answer_free) = {0};
        if (i == from || !witness_asks(witness, i))
            continue;
        e = ask(&witness->others[i], question, &theirs, NULL);
        if (e == ERR_CANCELLED)
            return e;
        if (e != ERR_OK)
            continue;
        e = compare_answers(question, out, &theirs, detail);
        if (agreement_add(&agreement, theirs.ledger, &e))
            return e;
    }
    return agreement_end(witness, &agreement, &out->ledger, detail);
}

enum err witness_accounts(void *source, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail)
{
    struct answer answer CLEANUP(answer_free) = {0};
    const struct question question = {keys, count};
    enum err e = ask_and_compare(source, &question, &answer, detail);
    *ledger = answer.ledger;
    memcpy(out, answer.accounts, count * sizeof out[0]);
    return e;
}

enum err witness_frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct answer answer CLEANUP(answer_free) = {0};
    const struct question question = {NULL, 0};
    enum err e = ask_and_compare(source, &question, &answer, detail);
    *ledger = answer.ledger;
    *out = answer.frozen;
    answer.frozen = (struct frozen_accounts){0};
    return e;
}
