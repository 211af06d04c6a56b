/* Asks the addresses for ledgers, and knows which is waited for. Whose ledger is the network's,
 * follow_judge.c decides. */
#include "follow_parts.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/metric.h"

struct chain_rules follow_rules(const struct follow *follow)
{
    return (struct chain_rules){&follow->network, follow->signatures ? &follow->trust : NULL};
}

void follow_forget(struct follow_source *source)
{
    chain_free(&source->chain);
    source->e = ERR_OK;
}

/* The chains are of what follows from the cursor. */
static void begin_at(struct follow *follow, const struct cursor *after, uint32_t due)
{
    if (follow->due == due && follow->after.known == after->known &&
        hash_equal(&follow->after.hash, &after->hash))
        return;
    follow->due = due;
    follow->after = *after;
    follow->gap_ms = 0;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        follow_forget(&follow->sources[i]);
}

void follow_close(struct follow *follow)
{
    for (size_t i = 0; i < RPC_ADDRESSES_MAX; i++)
        chain_free(&follow->sources[i].chain);
    trust_free(&follow->trust);
}

/* ---- who is waited for */

bool follow_is_waited_for(const struct follow_source *source)
{
    return source->away_s == 0 || clock_left_ms(source->away_until_ms) == 0;
}

void follow_put_away(struct follow *follow, size_t i, const char *why)
{
    struct follow_source *source = &follow->sources[i];
    if (rpcs_count(follow->rpcs) == 1 || !follow_is_waited_for(source))
        return;
    if (source->away_s == 0)
        log_warn("an RPC of RPC_URL is not waited for until it has a ledger in time", "rpc=%zu detail=\"%s\"",
            i + 1, why);
    metric_add(METRIC_RPC_LEFT_OUT, (unsigned)i, 0, 1);
    rpcs_avoid(follow->rpcs, i, true);
    const unsigned doubled_s = source->away_s == 0 ? FOLLOW_AWAY_S : 2 * source->away_s;
    source->away_s = doubled_s < FOLLOW_AWAY_MAX_S ? doubled_s : FOLLOW_AWAY_MAX_S;
    source->away_until_ms = follow->signatures ? clock_ms() + (int64_t)source->away_s * 1000
                                               : INT64_MAX; /* until it is brought back */
}

void follow_fails(struct follow *follow, size_t i, const char *why)
{
    if (follow->signatures)
        follow_put_away(follow, i, why);
}

/* Not sooner than its time is over: one that has a ledger in time now and then costs no more than one that
 * never has. */
static void bring_back(struct follow *follow, size_t i)
{
    struct follow_source *source = &follow->sources[i];
    if (follow->signatures && !follow_is_waited_for(source))
        return;
    if (source->away_s != 0)
        log_info("an RPC of RPC_URL had the ledger in time and is waited for again", "rpc=%zu", i + 1);
    source->away_s = 0;
    rpcs_avoid(follow->rpcs, i, false);
}

bool follow_is_pending(const struct follow *follow, size_t i)
{
    const int64_t waits_ms = rpcs_waits_ms(follow->rpcs, i);
    return follow_is_waited_for(&follow->sources[i]) && waits_ms >= 0 && waits_ms < FOLLOW_HANGS_MS;
}

bool follow_waits(struct follow *follow)
{
    bool any = false;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const int64_t waits_ms = rpcs_waits_ms(follow->rpcs, i);
        if (waits_ms >= FOLLOW_HANGS_MS)
            follow_fails(follow, i, "it does not answer");
        any |= waits_ms >= 0 && follow_is_waited_for(&follow->sources[i]);
    }
    return any;
}

/* ---- questions and answers */

/* Whether its first ledger has to be proved by one that follows. */
static bool needs_more(const struct follow *follow, const struct follow_source *source, bool whole)
{
    const struct chain *chain = &source->chain;
    return follow->signatures && !chain->proved &&
           (whole || !chain->is_signed || source->latest > chain->last || follow_is_disputed(follow));
}

/* Whether no other address is asked, because this one has more, which proves what it has served: a catch-up.
 * What it says of that is believed for a second. */
static bool catches_up(const struct follow_source *source)
{
    const struct chain *chain = &source->chain;
    return chain->holds && chain->is_signed && source->e == ERR_OK && source->latest > chain->last &&
           follow_is_waited_for(source) && clock_ms() - chain->got_ms < FOLLOW_HANGS_MS;
}

static void ask(struct follow *follow, bool whole)
{
    bool one_catches_up = false;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        one_catches_up |= catches_up(&follow->sources[i]);
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        const struct follow_source *source = &follow->sources[i];
        if (source->chain.holds && needs_more(follow, source, whole))
            rpcs_ask_ledgers(follow->rpcs, i, source->chain.last + 1, FOLLOW_FETCH_MAX >> source->halved);
        else if (!source->chain.holds && !one_catches_up)
            rpcs_ask_ledgers(follow->rpcs, i, follow->due, FOLLOW_FETCH_MAX >> source->halved);
    }
}

/* Ledgers of an answer: the chain begins with them, or goes on. */
static void take_ledgers(struct follow *follow, size_t i, struct rpcs_ledgers *answer)
{
    struct follow_source *source = &follow->sources[i];
    const struct chain_rules rules = follow_rules(follow);
    const bool goes_on = source->chain.holds;
    const enum err e = goes_on ? chain_extend(&source->chain, &rules, &answer->ledgers, &source->detail)
                               : chain_begin(&source->chain, &rules, &follow->after, follow->due,
                                     &answer->ledgers, &source->detail);
    source->halved -= source->halved > 0;
    if (e == ERR_OK)
        return;
    if (goes_on)
        chain_free(&source->chain); /* begins again with what it serves now */
    source->e = e;
    if (!source->chain.contradicts)
        follow_fails(follow, i, source->detail.text);
}

static void take_answer(struct follow *follow, size_t i, struct rpcs_ledgers *answer)
{
    struct follow_source *source = &follow->sources[i];
    const bool tells_latest =
        answer->e == ERR_OK || answer->e == ERR_LEDGER_AHEAD || answer->e == ERR_LEDGER_GAP;
    if (tells_latest) {
        source->latest = answer->ledgers.latest_ledger;
        metric_set(METRIC_RPC_LEDGER, (unsigned)i, source->latest);
    }
    if (answer->start != (source->chain.holds ? source->chain.last + 1 : follow->due) &&
        answer->e != ERR_CANCELLED)
        return; /* what was due then */
    source->asked_ms = answer->asked_ms;
    source->e = answer->e;
    source->detail = answer->detail;
    source->chain.contradicts = false;
    if (!tells_latest && answer->e != ERR_CANCELLED) {
        source->halved += source->halved < FOLLOW_HALVED_MAX;
        follow_fails(follow, i, answer->detail.text);
    }
    if (answer->e == ERR_LEDGER_AHEAD && !follow->signatures && source->latest + 1 >= follow->due)
        bring_back(follow, i); /* what it says counts again from the next ledger on */
    if (answer->e == ERR_OK)
        take_ledgers(follow, i, answer);
    else if (answer->e == ERR_LEDGER_GAP)
        chain_free(&source->chain);
}

/* Returns how many answers have come. */
static unsigned collect(struct follow *follow)
{
    unsigned count = 0;
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        struct rpcs_ledgers answer;
        if (!rpcs_take_ledgers(follow->rpcs, i, &answer))
            continue;
        take_answer(follow, i, &answer);
        rpc_ledgers_free(&answer.ledgers);
        count++;
    }
    return count;
}

enum err follow_next(struct follow *follow, const struct cursor *after, uint32_t due, bool whole,
    struct follow_ledger *out, struct detail *detail)
{
    const int64_t begun_ms = clock_ms();
    enum err e;
    follow->signatures = trust_is_on(&follow->trust);
    follow->contradicts = false;
    begin_at(follow, after, due);
    unsigned answers = collect(follow);
    const struct follow_source *proved = follow->signatures ? follow_find_proved(follow) : NULL;
    if (proved != NULL)
        return follow_found(follow, proved, out);
    ask(follow, whole);
    for (;;) {
        answers += collect(follow);
        e = follow_judge(follow, whole, out, detail);
        const int64_t until_ms = begun_ms + (answers > 0 ? FOLLOW_TIP_MS : FOLLOW_HANGS_MS);
        follow->pending = follow_waits(follow);
        if ((e != ERR_LEDGER_AHEAD && e != ERR_RPC_UNAVAILABLE) || !follow->pending ||
            clock_left_ms(until_ms) == 0)
            return e;
        rpcs_wait(follow->rpcs, until_ms);
    }
}

/* ---- what follows from a judgement */

/* Whether it has served what is not the network's, as another one's ledger shows that is committed. */
static bool is_refuted(
    const struct follow *follow, const struct follow_source *source, const struct hash *committed)
{
    const struct chain *chain = &source->chain;
    const bool dropped = hash_equal(&chain->first.value.tx_set_hash, &(struct hash){{0}});
    if (chain->holds) /* the network's may be one whose set was dropped: then what was proposed is signed */
        return (follow->proved || (!chain->is_signed && !dropped)) &&
               !hash_equal(&chain->first.hash, committed);
    switch (source->e) {
    case ERR_LEDGER_MISMATCH:
    case ERR_XDR_TRUNCATED:
    case ERR_XDR_TRAILING:
    case ERR_XDR_INVALID:
    case ERR_XDR_UNKNOWN_ARM:
    case ERR_XDR_TOO_DEEP:
        return true;
    default:
        return false;
    }
}

void follow_committed(struct follow *follow, const struct cursor *cursor)
{
    const struct chain_rules rules = follow_rules(follow);
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        struct follow_source *source = &follow->sources[i];
        enum err e = ERR_OK;
        source->had = source->chain.holds && hash_equal(&source->chain.first.hash, &cursor->hash);
        if (is_refuted(follow, source, &cursor->hash)) {
            metric_add(METRIC_RPC_REFUTED, (unsigned)i, 0, 1);
            follow_put_away(follow, i, "it has another ledger than the network");
        }
        if (source->had) {
            bring_back(follow, i);
            e = chain_next(&source->chain, &rules, cursor, &source->detail);
        } else {
            chain_free(&source->chain);
        }
        if (e != ERR_OK && !source->chain.contradicts)
            follow_fails(follow, i, source->detail.text);
        source->e = e;
    }
    follow->due = cursor->sequence + 1;
    follow->after = *cursor;
    follow->gap_ms = 0;
}

void follow_refuted(struct follow *follow)
{
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
        if (!follow->sources[i].had)
            continue;
        follow->sources[i].had = false;
        metric_add(METRIC_RPC_REFUTED, (unsigned)i, 0, 1);
        follow_put_away(follow, i, "the last ledger that it had was not the network's");
    }
}

enum err follow_fetch(struct follow *follow, uint32_t sequence, const struct hash *hash,
    struct rpc_ledgers *answer, struct ledger *ledger, struct detail *detail)
{
    const int64_t until_ms = clock_ms() + FOLLOW_HANGS_MS;
    const struct cursor none = {0};
    *answer = (struct rpc_ledgers){0};
    *ledger = (struct ledger){0};
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        rpcs_ask_ledgers(follow->rpcs, i, sequence, 1);
    for (bool late = false; !late; rpcs_wait(follow->rpcs, until_ms)) {
        late = clock_left_ms(until_ms) == 0;
        for (size_t i = 0; i < rpcs_count(follow->rpcs); i++) {
            struct rpcs_ledgers taken;
            if (!rpcs_take_ledgers(follow->rpcs, i, &taken))
                continue;
            if (taken.start != sequence)
                take_answer(follow, i, &taken);
            *answer = taken.ledgers;
            if (taken.e == ERR_OK && taken.start == sequence &&
                ledger_decode(answer->items[0].meta, &follow->network, ledger, NULL) == ERR_OK &&
                cursor_check(&none, sequence, &answer->items[0], ledger, NULL) == ERR_OK &&
                hash_equal(&ledger->hash, hash))
                return ERR_OK;
            ledger_free(ledger);
            rpc_ledgers_free(answer);
        }
    }
    for (size_t i = 0; i < rpcs_count(follow->rpcs); i++)
        if (follow->sources[i].chain.contradicts)
            follow_put_away(follow, i, "no RPC has the ledger that it names");
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "no RPC of RPC_URL has the ledger %" PRIu32 " that a signed one names", sequence);
}
