/* Which address's ledger is the network's. What proves a ledger, chain.c knows; nothing is asked here. */
#include "follow_parts.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/log.h"

/* At the tip, a second address is waited for, for this part of a ledger's time. */
#define WITNESS_PARTS 4

bool follow_is_disputed(const struct follow *follow)
{
    const struct chain *one = NULL;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct chain *chain = &follow->sources[i].chain;
        if (!chain->holds || !chain->is_signed)
            continue;
        if (one != NULL && !hash_equal(&one->first.hash, &chain->first.hash))
            return true;
        one = chain;
    }
    return false;
}

/* Another address whose first ledger is the same; NULL: none. */
static const struct follow_source *witness_of(const struct follow *follow, const struct follow_source *source)
{
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *other = &follow->sources[i];
        if (other != source && other->chain.holds &&
            hash_equal(&other->chain.first.hash, &source->chain.first.hash))
            return other;
    }
    return NULL;
}

enum err follow_found(struct follow *follow, const struct follow_source *source, struct follow_ledger *out)
{
    INVARIANT(source != NULL);
    follow->latest = source->latest;
    follow->proved = source->chain.proved || witness_of(follow, source) != NULL;
    *out = (struct follow_ledger){
        .ledger = &source->chain.first, .asked_ms = source->asked_ms, .got_us = source->chain.got_us};
    return ERR_OK;
}

static const struct follow_source *first_that_holds(const struct follow *follow, bool is_signed)
{
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        if (follow->sources[i].chain.holds && (!is_signed || follow->sources[i].chain.is_signed))
            return &follow->sources[i];
    return NULL;
}

/* Looks also at what came with first ledgers. */
const struct follow_source *follow_find_proved(struct follow *follow)
{
    const struct chain_rules rules = follow_rules(follow);
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        struct follow_source *source = &follow->sources[i];
        struct detail detail = {""};
        if (source->chain.holds && chain_prove(&source->chain, &rules, &detail) != ERR_OK)
            follow_fails(follow, i, detail.text);
        if (source->chain.holds && source->chain.proved)
            return source;
    }
    return NULL;
}

/* At the tip: whether another address may still have the same ledger in time. Those that have not are late.
 */
static bool awaits_witness(struct follow *follow, const struct follow_source *source)
{
    const int64_t waited_ms = clock_ms() - source->chain.got_ms;
    bool any = false;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *other = &follow->sources[i];
        if (other->chain.holds || !follow_is_waited_for(other))
            continue;
        const bool asked = other->e != ERR_OK || rpcs_waits_ms(follow->rpcs, i) >= 0;
        if (!asked || waited_ms < follow->ledger_ms / WITNESS_PARTS)
            any = true;
        else
            follow_put_away(follow, i, "it does not have the ledger in time");
    }
    return any;
}

/* Why a first ledger waits for one that follows it. */
static enum err unproved(
    struct follow *follow, const struct follow_source *source, bool whole, struct detail *detail)
{
    INVARIANT(source != NULL);
    const struct chain *chain = &source->chain;
    char node[ADDRESS_SIZE] = "nobody";
    if (chain->first.value.has_signature)
        address_encode(&chain->first.value.node, node);
    if (chain->last - chain->first.sequence >= FOLLOW_UNSIGNED_MAX)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "no trusted validator has signed ledger %u (%s) and the %d after it: TRUSTED_VALIDATORS takes a "
            "complete list, or \"off\"",
            chain->first.sequence, node, FOLLOW_UNSIGNED_MAX);
    if (follow->logged != chain->first.sequence)
        log_info("a ledger waits for a later one that a trusted validator has signed",
            "ledger=%u signed_by=%s", chain->first.sequence, node);
    follow->logged = chain->first.sequence;
    return detail_set(detail, ERR_LEDGER_AHEAD,
        "ledger %u, signed by %s, %s: it waits for a later one that a trusted validator has signed",
        chain->first.sequence, node,
        whole              ? "has no link to a committed one"
        : chain->is_signed ? "has another hash at another RPC"
                           : "is not signed by a trusted validator");
}

/* A signed ledger of an address that is waited for names another header than the cursor's, and no other
 * answer is waited for. */
static bool contradicts_cursor(struct follow *follow)
{
    const struct follow_source *found = NULL;
    bool pending = false;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *source = &follow->sources[i];
        pending |= follow_is_pending(follow, i);
        if (found == NULL && source->chain.contradicts && follow_is_waited_for(source))
            found = source;
    }
    follow->contradicts = found != NULL && !pending;
    if (follow->contradicts)
        follow->named = found->chain.named;
    return follow->contradicts;
}

static enum err judge_signed(
    struct follow *follow, bool whole, struct follow_ledger *out, struct detail *detail)
{
    const struct follow_source *source = first_that_holds(follow, true);
    if (whole || source == NULL || follow_is_disputed(follow))
        return unproved(follow, source != NULL ? source : first_that_holds(follow, false), whole, detail);
    if (witness_of(follow, source) != NULL)
        return follow_found(follow, source, out);
    /* what follows proves more than a witness; an address that only says that it has it is waited for once */
    const bool more = source->latest > source->chain.last && source->e == ERR_OK &&
                      follow_is_pending(follow, (size_t)(source - follow->sources));
    if (more || awaits_witness(follow, source))
        return ERR_LEDGER_AHEAD;
    return follow_found(follow, source, out);
}

static enum err differ(struct follow *follow, const struct follow_source *a, const struct follow_source *b,
    struct detail *detail)
{
    char ours[HASH_HEX_SIZE], theirs[HASH_HEX_SIZE];
    hash_encode(&a->chain.first.hash, ours);
    hash_encode(&b->chain.first.hash, theirs);
    const enum err e = detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %" PRIu32 " has the hash %.16s... at RPC %td of RPC_URL and %.16s... at RPC %td, and no "
        "signatures are checked: remove the one that is wrong",
        follow->due, ours, a - follow->sources + 1, theirs, b - follow->sources + 1);
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        follow_forget(&follow->sources[i]); /* asked again */
    return e;
}

/* Without signatures, what two say counts. */
static enum err judge_believed(struct follow *follow, struct follow_ledger *out, struct detail *detail)
{
    const struct follow_source *source = first_that_holds(follow, false), *differs = NULL;
    int64_t wait_ms = 0;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *other = &follow->sources[i];
        const bool contradicts = other->e == ERR_LEDGER_AHEAD && other->latest + 1 >= follow->due &&
                                 rpcs_waits_ms(follow->rpcs, i) < follow->ledger_ms;
        if (other->chain.holds && witness_of(follow, other) != NULL)
            return follow_found(follow, other, out);
        if (other->chain.holds && other != source)
            differs = other;
        else if (!other->chain.holds && follow_is_waited_for(other) && wait_ms < RPCS_ALONE_MS)
            wait_ms = contradicts ? RPCS_ALONE_MS : follow->ledger_ms;
    }
    INVARIANT(source != NULL);
    if (clock_ms() - source->chain.got_ms < wait_ms)
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has the ledger yet");
    if (differs != NULL)
        return differ(follow, source, differs, detail);
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        if (&follow->sources[i] != source)
            follow_put_away(follow, i, "it does not have the ledger in time");
    return follow_found(follow, source, out);
}

/* A recovery from a gap reads accounts, which nothing proves: one that lies must not cause it alone. */
static enum err judge_gap(
    struct follow *follow, unsigned dropped, const struct follow_source *current, struct detail *detail)
{
    const int64_t now = clock_ms();
    follow->gap_ms = follow->gap_ms == 0 ? now : follow->gap_ms;
    if (current == NULL && (dropped > 1 || rpcs_count(follow->rpcs) == 1))
        return ERR_LEDGER_GAP;
    if (now - follow->gap_ms < RPCS_ALONE_MS)
        return detail_set(detail, ERR_LEDGER_AHEAD, "no other RPC of RPC_URL has dropped the ledger");
    if (current == NULL)
        return ERR_LEDGER_GAP;
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "an RPC of RPC_URL has dropped ledger %" PRIu32 ", and RPC %td says that it has not closed yet: "
        "remove the one that is wrong",
        follow->due, current - follow->sources + 1);
}

/* No address has a ledger that can be used. */
static enum err judge_none(struct follow *follow, struct detail *detail)
{
    const struct follow_source *failed = NULL, *ahead = NULL, *current = NULL;
    unsigned dropped = 0;
    bool pending = false, later = false;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *source = &follow->sources[i];
        if (source->e == ERR_LEDGER_AHEAD &&
            (ahead == NULL || (source->latest > ahead->latest) != (follow->due == UINT32_MAX)))
            ahead = source;
        if (source->e == ERR_LEDGER_AHEAD && source->latest + 1 >= follow->due)
            current = source;
        dropped += source->e == ERR_LEDGER_GAP;
        pending |= follow_is_pending(follow, i);
        later |=
            source->e == ERR_RPC_UNAVAILABLE || (source->e == ERR_OK && rpcs_waits_ms(follow->rpcs, i) >= 0);
        if (failed == NULL && source->e != ERR_OK && source->e != ERR_LEDGER_AHEAD)
            failed = source;
    }
    if (ahead != NULL)
        follow->latest = ahead->latest;
    if (dropped > 0)
        return judge_gap(follow, dropped, current, detail);
    if (ahead != NULL || pending)
        return ERR_LEDGER_AHEAD;
    if (failed == NULL)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "no RPC of RPC_URL has answered in time");
    if (rpcs_count(follow->rpcs) == 1)
        return detail_set(detail, failed->e, "%s", failed->detail.text);
    return detail_set(detail, later ? ERR_RPC_UNAVAILABLE : failed->e, "RPC %td of RPC_URL: %s",
        failed - follow->sources + 1, failed->detail.text);
}

enum err follow_judge(struct follow *follow, bool whole, struct follow_ledger *out, struct detail *detail)
{
    detail_write(detail, "%s", "");
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        if (follow->sources[i].e == ERR_CANCELLED)
            return ERR_CANCELLED;
    const bool holds = first_that_holds(follow, false) != NULL;
    const struct follow_source *proved = holds && follow->signatures ? follow_find_proved(follow) : NULL;
    if (proved != NULL)
        return follow_found(follow, proved, out);
    if (first_that_holds(follow, true) == NULL && contradicts_cursor(follow))
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "ledger %" PRIu32 " is signed and does not follow from the last committed one. " CURSOR_RESET,
            follow->due);
    if (!holds)
        return judge_none(follow, detail);
    return follow->signatures ? judge_signed(follow, whole, out, detail)
                              : judge_believed(follow, out, detail);
}
