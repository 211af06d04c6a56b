/* Reads from several RPCs. No signature proves what they say: what two of them say counts, and one alone is
 * believed after a time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpcs_parts.h"

/* Between two looks at who has answered. */
#define LOOK_MS 50

/* One question to all. */
struct reading {
    struct rpcs *rpcs;
    const struct rpcs_question *question;
    struct rpcs_answer answers[RPC_ADDRESSES_MAX];
    bool asked[RPC_ADDRESSES_MAX], answered[RPC_ADDRESSES_MAX];
    int64_t until_ms; /* one that is behind another is asked again */
    enum err e;       /* what came of it */
    /* Two that say the same; else first is any answer, and second one that differs, or NULL */
    struct rpcs_answer *first, *second;
};

static void reading_free(struct reading **reading)
{
    for (size_t i = 0; i < (*reading)->rpcs->count; i++)
        rpcs_answer_free(&(*reading)->answers[i]);
    free(*reading);
}

/* ---- what two say */

static bool same_account(const struct account_entry *a, const struct account_entry *b)
{
    return a->removed == b->removed &&
           (a->removed || (a->sequence == b->sequence && a->own_authority == b->own_authority &&
                              a->cannot_sign == b->cannot_sign && a->balance_stroops == b->balance_stroops &&
                              a->reserves == b->reserves && a->selling_stroops == b->selling_stroops &&
                              a->bare == b->bare && a->immutable == b->immutable));
}

/* The index of the first account about which they differ; count: none. */
static size_t first_difference(const struct rpcs_answer *a, const struct rpcs_answer *b, size_t count)
{
    size_t i = 0;
    while (i < count && same_account(&a->accounts[i], &b->accounts[i]))
        i++;
    return i;
}

static bool same_frozen(const struct frozen_accounts *a, const struct frozen_accounts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = public_key_equal(&a->keys[i], &b->keys[i]);
    return same;
}

static bool same_transaction(const struct rpc_transaction *a, const struct rpc_transaction *b)
{
    return a->status == b->status && a->code == b->code && a->ledger == b->ledger &&
           a->result.len == b->result.len && memcmp(a->result.bytes, b->result.bytes, a->result.len) == 0;
}

static bool is_same(
    const struct rpcs_question *question, const struct rpcs_answer *a, const struct rpcs_answer *b)
{
    switch (question->kind) {
    case RPCS_ASK_ACCOUNTS:
        return first_difference(a, b, question->count) == question->count;
    case RPCS_ASK_FROZEN:
        return same_frozen(&a->frozen, &b->frozen);
    case RPCS_ASK_TRANSACTION:
        return same_transaction(&a->transaction, &b->transaction);
    default:
        return true;
    }
}

static struct rpcs_answer *answer_of(struct reading *reading, size_t i)
{
    return reading->answered[i] && reading->answers[i].e == ERR_OK ? &reading->answers[i] : NULL;
}

/* Sets first and second; true: they say the same. */
static bool find_same(struct reading *reading)
{
    reading->first = reading->second = NULL;
    for (size_t i = 0; i < reading->rpcs->count; i++)
        for (size_t k = i + 1; k < reading->rpcs->count; k++) {
            struct rpcs_answer *a = answer_of(reading, i), *b = answer_of(reading, k);
            if (a != NULL && b != NULL) {
                reading->first = a;
                reading->second = b;
                if (is_same(reading->question, a, b))
                    return true;
            }
        }
    for (size_t i = 0; reading->first == NULL && i < reading->rpcs->count; i++)
        reading->first = answer_of(reading, i);
    return false;
}

/* ---- what one says alone */

static unsigned number_of(const struct reading *reading, const struct rpcs_answer *answer)
{
    return (unsigned)(answer - reading->answers) + 1;
}

static enum err differ(const struct reading *reading, struct detail *detail)
{
    const struct rpcs_question *question = reading->question;
    const struct rpcs_answer *a = reading->first, *b = reading->second;
    char address[ADDRESS_SIZE];
    if (question->kind == RPCS_ASK_FROZEN)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "RPCs %u and %u of RPC_URL differ about the frozen keys: nothing is changed until they agree",
            number_of(reading, a), number_of(reading, b));
    address_encode(&question->keys[first_difference(a, b, question->count)], address);
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "RPCs %u and %u of RPC_URL differ about account %s: nothing is changed until they agree",
        number_of(reading, a), number_of(reading, b), address);
}

/* A liar must not decide while the other RPC restarts. After a long time without a read, the wait starts
 * again. */
static enum err judge_alone(struct reading *reading, struct detail *detail)
{
    struct rpcs *rpcs = reading->rpcs;
    const int64_t now = clock_ms();
    const unsigned number = number_of(reading, reading->first);
    if (rpcs->alone_since_ms == 0 || now - rpcs->alone_seen_ms > (int64_t)2 * RPCS_ALONE_MS)
        rpcs->alone_since_ms = now;
    rpcs->alone_seen_ms = now;
    if (now - rpcs->alone_since_ms < RPCS_ALONE_MS)
        return detail_set(
            detail, ERR_RPC_UNAVAILABLE, "RPC %u of RPC_URL has answered, and no other RPC yet", number);
    log_warn("no other RPC of RPC_URL answers reads; one is believed alone", "rpc=%u", number);
    return ERR_OK;
}

/* When none has answered: the first error. */
static enum err failed(const struct reading *reading, struct detail *detail)
{
    for (size_t i = 0; i < reading->rpcs->count; i++)
        if (reading->answered[i])
            return detail_set(detail, reading->answers[i].e, "RPC %zu of RPC_URL: %s", i + 1,
                reading->answers[i].detail.text);
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "no RPC of RPC_URL has answered in time");
}

/* ---- a question to all */

/* Whether an answer is still waited for. */
static bool waits(const struct reading *reading)
{
    for (size_t i = 0; i < reading->rpcs->count; i++) {
        const int64_t waits_ms = rpcs_waits_ms(reading->rpcs, i);
        if (!reading->answered[i] && waits_ms >= 0 && waits_ms < reading->rpcs->ledger_ms)
            return true;
    }
    return false;
}

/* One that is still busy with an earlier question is asked when it is free. One that has just failed counts
 * as failed again. */
static void ask_and_take(struct reading *reading)
{
    for (size_t i = 0; i < reading->rpcs->count; i++) {
        struct rpcs_source *source = &reading->rpcs->sources[i];
        struct rpcs_answer *answer = &reading->answers[i];
        if (!reading->asked[i] && !(reading->asked[i] = rpcs_ask(source, reading->question))) {
            (void)rpcs_take(source, reading->question->id, answer);  /* to an earlier question: dropped, */
            reading->asked[i] = rpcs_ask(source, reading->question); /* and it may be free now */
        }
        if (reading->asked[i] && !reading->answered[i])
            reading->answered[i] = rpcs_take(source, reading->question->id, answer);
        if (!reading->asked[i] && rpcs_waits_ms(reading->rpcs, i) < 0) {
            answer->e = detail_set(&answer->detail, ERR_RPC_UNAVAILABLE, "it has just failed");
            reading->asked[i] = reading->answered[i] = true;
        }
    }
}

/* Without two that find it, a transaction is not found, unless one address has long been used alone. */
static enum err judge_transaction(struct reading *reading)
{
    const int64_t since_ms = reading->rpcs->alone_since_ms;
    const bool alone = since_ms != 0 && clock_ms() - since_ms >= RPCS_ALONE_MS;
    if (!alone)
        reading->first->transaction.status = RPC_TRANSACTION_NOT_FOUND;
    return ERR_OK;
}

/* Two that differ about accounts because one is behind do not contradict each other: that one is asked again.
 * Else one that is always a little late would stop each read of an account that pays in every ledger. */
static bool ask_behind(struct reading *reading)
{
    struct rpcs_answer *first = reading->first, *second = reading->second;
    struct rpcs_answer *behind = first->ledger < second->ledger ? first : second;
    const size_t i = (size_t)(behind - reading->answers);
    if (reading->question->kind != RPCS_ASK_ACCOUNTS || first->ledger == second->ledger ||
        clock_left_ms(reading->until_ms) == 0)
        return false;
    clock_sleep_ms(reading->rpcs->ledger_ms / 8);
    rpcs_answer_free(behind);
    reading->asked[i] = reading->answered[i] = false;
    return true;
}

static enum err judge(struct reading *reading, struct detail *detail)
{
    for (size_t i = 0; i < reading->rpcs->count; i++)
        if (reading->answered[i] && reading->answers[i].e == ERR_CANCELLED)
            return ERR_CANCELLED;
    if (find_same(reading)) {
        reading->rpcs->alone_since_ms = 0;
        return ERR_OK;
    }
    if (reading->first != NULL && reading->question->kind == RPCS_ASK_NETWORK)
        return ERR_OK;
    if (waits(reading))
        return ERR_NOT_YET;
    if (reading->first == NULL)
        return failed(reading, detail);
    if (reading->question->kind == RPCS_ASK_TRANSACTION)
        return judge_transaction(reading);
    if (reading->second == NULL)
        return judge_alone(reading, detail);
    return ask_behind(reading) ? ERR_NOT_YET : differ(reading, detail);
}

static struct reading *ask_all(struct rpcs *rpcs, struct rpcs_question *question, struct detail *detail)
{
    struct reading *reading = NEW(struct reading);
    question->id = ++rpcs->reads;
    reading->rpcs = rpcs;
    reading->question = question;
    reading->until_ms = clock_ms() + 2 * (int64_t)rpcs->ledger_ms;
    ask_and_take(reading);
    while ((reading->e = judge(reading, detail)) == ERR_NOT_YET) {
        rpcs_wait(rpcs, clock_ms() + LOOK_MS);
        ask_and_take(reading);
    }
    return reading;
}

/* ---- the feed */

static enum err network(void *context, struct rpc_network *out, struct detail *detail)
{
    struct rpcs_question question = {.kind = RPCS_ASK_NETWORK};
    struct reading *reading CLEANUP(reading_free) = ask_all(context, &question, detail);
    *out = (struct rpc_network){0};
    if (reading->e == ERR_OK) {
        *out = reading->first->network;
        reading->first->network = (struct rpc_network){0};
    }
    return reading->e;
}

/* Of two that say the same, the one that gains nothing by naming a later ledger. */
static uint32_t earlier(const struct reading *reading)
{
    const struct rpcs_answer *first = reading->first, *second = reading->second;
    return second != NULL && second->ledger < first->ledger ? second->ledger : first->ledger;
}

static enum err accounts(void *context, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    struct rpcs_question question = {.kind = RPCS_ASK_ACCOUNTS, .count = count};
    INVARIANT(count <= RPC_ENTRIES_MAX);
    memcpy(question.keys, keys, count * sizeof keys[0]);
    struct reading *reading CLEANUP(reading_free) = ask_all(context, &question, detail);
    if (reading->e == ERR_OK) {
        *ledger = earlier(reading);
        memcpy(out, reading->first->accounts, count * sizeof out[0]);
    }
    return reading->e;
}

static enum err frozen(void *context, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct rpcs_question question = {.kind = RPCS_ASK_FROZEN};
    struct reading *reading CLEANUP(reading_free) = ask_all(context, &question, detail);
    *out = (struct frozen_accounts){0};
    if (reading->e == ERR_OK) {
        *ledger = earlier(reading);
        *out = reading->first->frozen;
        reading->first->frozen = (struct frozen_accounts){0};
    }
    return reading->e;
}

static enum err transaction(
    void *context, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct rpcs_question question = {.kind = RPCS_ASK_TRANSACTION, .hash = *hash};
    struct reading *reading CLEANUP(reading_free) = ask_all(context, &question, detail);
    if (reading->e == ERR_OK)
        *out = reading->first->transaction;
    return reading->e;
}

struct feed rpcs_feed(struct rpcs *rpcs)
{
    if (rpcs->count == 1)
        return rpcs->sources[0].feed;
    return (struct feed){NULL, network, accounts, frozen, transaction, rpcs};
}
