/* What is proved of the ledgers that one address serves. Which address is believed, follow.c judges. */
#include "chain.h"

#include "base/clock.h"

void chain_free(struct chain *chain)
{
    rpc_ledgers_free(&chain->answer);
    rpc_ledgers_free(&chain->more);
    ledger_free(&chain->first);
    ledger_free(&chain->next);
    *chain = (struct chain){0};
}

/* ---- the first one */

/* How much earlier than the last ledger one may close: less is a ledger from before testnet was reset. */
#define CLOSE_TIME_SLACK_S 60

/* Anybody can write a number into a header: whether the network's ledger of that number is another one than
 * the known, refute.c looks up. */
static bool contradicts(
    const struct chain_rules *rules, const struct cursor *after, uint32_t due, const struct ledger *ledger)
{
    return rules->trust != NULL && after->known && ledger->hash_proved && ledger->set_proved &&
           ledger->sequence == due && !hash_equal(&ledger->previous_hash, &after->hash) &&
           ledger->close_time_s + CLOSE_TIME_SLACK_S >= after->close_time_s &&
           trust_signed(rules->trust, ledger);
}

/* chain->first is decoded. */
static enum err check_first(struct chain *chain, const struct chain_rules *rules, const struct cursor *after,
    uint32_t due, struct detail *detail)
{
    const struct ledger *first = &chain->first;
    const enum err e = cursor_check(after, due, &chain->answer.items[chain->at], first, detail);
    if (e != ERR_OK) {
        const bool named = contradicts(rules, after, due, first);
        const struct hash hash = first->previous_hash;
        chain_free(chain);
        chain->contradicts = named;
        chain->named = hash;
        return e;
    }
    chain->holds = true;
    chain->is_signed = rules->trust != NULL && trust_signed(rules->trust, first);
    chain->proved = false;
    chain->last = first->sequence;
    chain->tip = first->hash;
    return ERR_OK;
}

enum err chain_begin(struct chain *chain, const struct chain_rules *rules, const struct cursor *after,
    uint32_t due, struct rpc_ledgers *answer, struct detail *detail)
{
    chain_free(chain);
    chain->answer = *answer;
    *answer = (struct rpc_ledgers){0};
    chain->got_ms = clock_ms();
    chain->got_us = clock_us();
    const enum err e = ledger_decode(chain->answer.items[0].meta, rules->network, &chain->first, detail);
    if (e == ERR_OK)
        return check_first(chain, rules, after, due, detail);
    chain_free(chain);
    return e;
}

enum err chain_next(
    struct chain *chain, const struct chain_rules *rules, const struct cursor *after, struct detail *detail)
{
    enum err e = ERR_OK;
    if (++chain->at >= chain->answer.count) {
        struct rpc_ledgers more CLEANUP(rpc_ledgers_free) = chain->more;
        chain->more = (struct rpc_ledgers){0};
        chain_free(chain);
        return more.count == 0 ? ERR_OK
                               : chain_begin(chain, rules, after, after->sequence + 1, &more, detail);
    }
    chain->got_ms = clock_ms();
    ledger_free(&chain->first);
    chain->first = chain->next;
    chain->next = (struct ledger){0};
    chain->holds = false;
    if (chain->first.sequence == 0)
        e = ledger_decode(chain->answer.items[chain->at].meta, rules->network, &chain->first, detail);
    if (e == ERR_OK)
        return check_first(chain, rules, after, after->sequence + 1, detail);
    chain_free(chain);
    return e;
}

/* ---- those that follow */

/* Reads one into *ledger. Of its proofs, results are not needed: whoever forges them changes the hash. */
static enum err look_at(struct chain *chain, const struct chain_rules *rules,
    const struct rpc_ledger *received, struct ledger *ledger, struct detail *detail)
{
    enum err e = ledger_decode(received->meta, rules->network, ledger, detail);
    if (e != ERR_OK)
        return e;
    if (!ledger->hash_proved || !ledger->set_proved || ledger->sequence != chain->last + 1 ||
        !hash_equal(&ledger->previous_hash, &chain->tip))
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "ledger %u does not follow from ledger %u, which the same RPC has served", received->sequence,
            chain->last);
    chain->last = ledger->sequence;
    chain->tip = ledger->hash;
    chain->proved = rules->trust != NULL && trust_signed(rules->trust, ledger);
    return ERR_OK;
}

enum err chain_extend(
    struct chain *chain, const struct chain_rules *rules, struct rpc_ledgers *answer, struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && !chain->proved && i < answer->count; i++) {
        struct ledger ledger CLEANUP(ledger_free) = {0};
        e = look_at(chain, rules, &answer->items[i], &ledger, detail);
    }
    if (chain->proved && chain->more.count == 0 && answer->items[0].sequence == chain->first.sequence + 1) {
        chain->more = *answer;
        *answer = (struct rpc_ledgers){0};
    }
    return e;
}

/* The one after the first is kept decoded: it is mostly the next to be committed. */
enum err chain_prove(struct chain *chain, const struct chain_rules *rules, struct detail *detail)
{
    enum err e = ERR_OK;
    if (!chain->is_signed) /* the list may have changed */
        chain->is_signed = rules->trust != NULL && trust_signed(rules->trust, &chain->first);
    size_t i = chain->at + 1 + (chain->last - chain->first.sequence);
    for (; e == ERR_OK && !chain->proved && i < chain->answer.count; i++) {
        struct ledger other CLEANUP(ledger_free) = {0};
        struct ledger *ledger = i == chain->at + 1 ? &chain->next : &other;
        e = look_at(chain, rules, &chain->answer.items[i], ledger, detail);
    }
    if (e != ERR_OK) {
        chain->answer.count = i - 1;
        if (i - 1 == chain->at + 1)
            ledger_free(&chain->next);
    }
    return e;
}
