/* What the answers of several RPCs come to: what two of them say, and when one is believed alone. Whether
 * ledgers are the network's, ingest/cursor.c checks. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "rpcs_parts.h"

/* Milliseconds since an RPC alone says this. */
static int64_t age_ms(struct rpcs_claim *claim, uint32_t ledger)
{
    const int64_t now = clock_ms();
    /* whoever asks only while it leads may have stopped asking long ago */
    if (claim->since_ms == 0 || claim->ledger != ledger || now - claim->seen_ms > (int64_t)2 * RPCS_ALONE_MS)
        claim->since_ms = now;
    claim->ledger = ledger;
    claim->seen_ms = now;
    return now - claim->since_ms;
}

/* ---- what two say */

size_t rpcs_same_ledgers(const struct rpcs_answer *a, const struct rpcs_answer *b)
{
    const struct rpc_ledgers *ours = &a->ledgers, *theirs = &b->ledgers;
    size_t same = 0;
    while (same < ours->count && same < theirs->count &&
           ours->items[same].sequence == theirs->items[same].sequence &&
           hash_equal(&ours->items[same].hash, &theirs->items[same].hash))
        same++;
    return same;
}

static bool same_account(const struct rpc_account *a, const struct rpc_account *b)
{
    return a->found == b->found &&
           (!a->found || (a->sequence == b->sequence && a->own_authority == b->own_authority &&
                             a->balance_stroops == b->balance_stroops && a->reserves == b->reserves &&
                             a->selling_stroops == b->selling_stroops));
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
    case RPCS_ASK_LEDGERS:
        return rpcs_same_ledgers(a, b) > 0;
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

static bool find_same(struct rpcs *rpcs, struct rpcs_source **first, struct rpcs_source **second)
{
    for (size_t i = 0; i < rpcs->count; i++)
        for (size_t k = i + 1; k < rpcs->count; k++) {
            *first = &rpcs->sources[i];
            *second = &rpcs->sources[k];
            const struct rpcs_answer *a = rpcs_source_answer(*first), *b = rpcs_source_answer(*second);
            if (a != NULL && b != NULL && is_same(&rpcs->question, a, b))
                return true;
        }
    return false;
}

/* ---- ledgers */

bool rpcs_source_is_up_to_date(const struct rpcs_source *source)
{
    return rpcs_source_says(source, ERR_LEDGER_AHEAD) &&
           source->answer.ledgers.latest_ledger >= source->rpcs->question.start - 1;
}

/* Whether each RPC without the ledger has lacked it for as long as it is waited for. */
static bool others_lack_it(struct rpcs *rpcs)
{
    const int64_t waited_ms = age_ms(&rpcs->ledger, rpcs->question.start);
    for (size_t i = 0; i < rpcs->count; i++) {
        struct rpcs_source *source = &rpcs->sources[i];
        const bool contradicts = !rpcs->signatures && rpcs_source_is_up_to_date(source);
        if (rpcs_source_answer(source) == NULL && !source->left_out &&
            waited_ms < (contradicts ? RPCS_ALONE_MS : rpcs->ledger_ms))
            return false;
    }
    return true;
}

/* Their answers are not used again. */
static enum err other_hash(
    struct rpcs *rpcs, const struct rpcs_source *a, const struct rpcs_source *b, struct detail *detail)
{
    char ours[HASH_HEX_SIZE], theirs[HASH_HEX_SIZE];
    hash_encode(&a->answer.ledgers.items[0].hash, ours);
    hash_encode(&b->answer.ledgers.items[0].hash, theirs);
    for (size_t i = 0; i < rpcs->count; i++)
        rpcs->sources[i].answered = 0;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %" PRIu32 " has the hash %.16s... at RPC %u of RPC_URL and %.16s... at RPC %u: find out which"
        " one is wrong and remove it",
        rpcs->question.start, ours, a->number, theirs, b->number);
}

static enum err judge_ledger(struct rpcs *rpcs, const struct rpcs_source *first,
    const struct rpcs_source *second, const struct rpcs_source **range, struct detail *detail)
{
    *range = first;
    if (!others_lack_it(rpcs))
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has the ledger yet");
    if (second != NULL)
        return other_hash(rpcs, first, second, detail);
    for (size_t i = 0; i < rpcs->count; i++)
        if (&rpcs->sources[i] != first)
            rpcs_source_leave_out(&rpcs->sources[i]);
    return ERR_OK;
}

/* When no answer decides: the first error. */
static enum err failed(const struct rpcs *rpcs, struct detail *detail)
{
    for (size_t i = 0; i < rpcs->count; i++) {
        const struct rpcs_source *source = &rpcs->sources[i];
        if (source->answered == rpcs->number && source->answer.e != ERR_OK)
            return detail_set(detail, source->answer.e, "RPC %u of RPC_URL: %s", source->number,
                source->answer.detail.text);
    }
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "no RPC of RPC_URL has answered in time");
}

/* A recovery from a gap ends leases by what RPCs say about accounts: one that lies, or has stopped, must not
 * cause it alone. */
static enum err judge_gap(struct rpcs *rpcs, const struct rpcs_source *dropped, struct detail *detail)
{
    const struct rpcs_source *current = NULL;
    for (size_t i = 0; i < rpcs->count; i++) {
        const struct rpcs_source *source = &rpcs->sources[i];
        if (source != dropped && rpcs_source_says(source, ERR_LEDGER_GAP))
            return ERR_LEDGER_GAP;
        if (rpcs_source_is_up_to_date(source))
            current = source;
    }
    if (age_ms(&rpcs->ledger, rpcs->question.start) < RPCS_ALONE_MS)
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has dropped the ledger");
    if (current == NULL)
        return ERR_LEDGER_GAP;
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "RPC %u of RPC_URL has dropped ledger %" PRIu32 ", and RPC %u says that it has not closed yet: find"
        " out which one is wrong and remove it",
        dropped->number, rpcs->question.start, current->number);
}

/* Among those that do not have it yet, the one with the latest ledgers is the range; before the first ledger
 * of a database, which all must have, the one with the earliest. */
static enum err judge_no_ledger(struct rpcs *rpcs, const struct rpcs_source **range, struct detail *detail)
{
    const bool first = rpcs->question.start == UINT32_MAX;
    const struct rpcs_source *dropped = NULL, *ahead = NULL;
    for (size_t i = 0; i < rpcs->count; i++) {
        const struct rpcs_source *source = &rpcs->sources[i];
        const uint32_t latest = source->answer.ledgers.latest_ledger;
        if (dropped == NULL && rpcs_source_says(source, ERR_LEDGER_GAP))
            dropped = source;
        if (rpcs_source_says(source, ERR_LEDGER_AHEAD) &&
            (ahead == NULL || (latest > ahead->answer.ledgers.latest_ledger) != first))
            ahead = source;
    }
    const enum err e = dropped != NULL ? judge_gap(rpcs, dropped, detail)
                       : ahead != NULL ? ERR_LEDGER_AHEAD
                                       : failed(rpcs, detail);
    *range = e == ERR_LEDGER_GAP || ahead == NULL ? dropped : ahead;
    return e;
}

/* ---- reads */

static enum err differ(const struct rpcs_question *question, const struct rpcs_source *a,
    const struct rpcs_source *b, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    if (question->kind == RPCS_ASK_FROZEN)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "RPCs %u and %u of RPC_URL differ about the frozen keys: nothing is changed until they agree",
            a->number, b->number);
    address_encode(&question->keys[first_difference(&a->answer, &b->answer, question->count)], address);
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "RPCs %u and %u of RPC_URL differ about account %s: nothing is changed until they agree", a->number,
        b->number, address);
}

/* A liar must not decide while the other RPC restarts. */
static enum err judge_read(struct rpcs *rpcs, const struct rpcs_source *alone, struct detail *detail)
{
    if (age_ms(&rpcs->read, 0) < RPCS_ALONE_MS)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "RPC %u of RPC_URL has answered, and no other RPC yet",
            alone->number);
    log_warn("no other RPC of RPC_URL answers reads; one is believed alone", "rpc=%u", alone->number);
    return ERR_OK;
}

/* ---- all */

/* Of the RPCs that have answered, one that is not left out first. */
static void find_answers(struct rpcs *rpcs, struct rpcs_source **first, struct rpcs_source **second)
{
    *first = *second = NULL;
    for (int left_out = 0; left_out < 2; left_out++)
        for (size_t i = 0; i < rpcs->count; i++)
            if (rpcs_source_answer(&rpcs->sources[i]) != NULL && rpcs->sources[i].left_out == left_out)
                *(*first == NULL ? first : second) = &rpcs->sources[i];
}

static bool any_says(const struct rpcs *rpcs, enum err e)
{
    for (size_t i = 0; i < rpcs->count; i++)
        if (rpcs_source_says(&rpcs->sources[i], e))
            return true;
    return false;
}

enum err rpcs_judge(struct rpcs *rpcs, bool waits, struct rpcs_source **first, struct rpcs_source **second,
    const struct rpcs_source **range, struct detail *detail)
{
    const struct rpcs_question *question = &rpcs->question;
    if (any_says(rpcs, ERR_CANCELLED))
        return ERR_CANCELLED;
    if (find_same(rpcs, first, second)) {
        rpcs->read.since_ms = question->kind == RPCS_ASK_LEDGERS ? rpcs->read.since_ms : 0;
        return ERR_OK;
    }
    struct rpcs_source *differs;
    find_answers(rpcs, first, &differs);
    *second = NULL;
    const bool no_ledger = question->kind == RPCS_ASK_LEDGERS && *first == NULL;
    /* at the tip, the others are asked again before one that hangs is left out */
    const bool at_tip = no_ledger && any_says(rpcs, ERR_LEDGER_AHEAD);
    if (*first != NULL && question->kind == RPCS_ASK_NETWORK)
        return ERR_OK;
    if (waits && (!at_tip || clock_ms() - rpcs->begun_ms < rpcs->tip_ms))
        return ERR_NOT_YET;
    if (no_ledger)
        return judge_no_ledger(rpcs, range, detail);
    if (question->kind == RPCS_ASK_LEDGERS)
        return judge_ledger(rpcs, *first, differs, range, detail);
    if (*first == NULL)
        return failed(rpcs, detail);
    if (question->kind == RPCS_ASK_TRANSACTION)
        return ERR_OK;
    return differs != NULL ? differ(question, *first, differs, detail) : judge_read(rpcs, *first, detail);
}
