#include "cursor.h"

/* How far nodes behind one address may be apart: minutes. */
#define LEDGERS_APART 100

static enum err disagree(struct detail *detail, const struct ledger *ledger, const char *what)
{
    return detail_set(detail, ERR_LEDGER_MISMATCH, "ledger %u: %s", ledger->sequence, what);
}

/* A provider that truncates or mixes up answers must not make a confirmed lease look expired. */
static enum err check_proofs(
    const struct rpc_ledger *named, const struct ledger *ledger, struct detail *detail)
{
    if (!ledger->hash_proved)
        return disagree(detail, ledger, "its header does not have its hash");
    if (!hash_equal(&named->hash, &ledger->hash))
        return disagree(detail, ledger, "its hash is not the one that Stellar RPC named");
    if (!ledger->results_proved)
        return disagree(detail, ledger, "its transaction results are not those of its header");
    return ERR_OK;
}

static enum err check_named(
    uint32_t due, const struct rpc_ledger *named, const struct ledger *ledger, struct detail *detail)
{
    if (named->sequence != due || ledger->sequence != due)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "ledger %u is due; Stellar RPC named %u and sent %u. " NEW_DATABASE, due, named->sequence,
            ledger->sequence);
    return check_proofs(named, ledger, detail);
}

static enum err check_order(const struct cursor *position, const struct ledger *ledger, struct detail *detail)
{
    if (ledger->close_time_s < position->close_time_s)
        return disagree(detail, ledger, "it closed before the last committed one. " NEW_DATABASE);
    if (ledger->protocol < position->protocol)
        return disagree(detail, ledger, "its protocol is older than the last committed one's. " NEW_DATABASE);
    return ERR_OK;
}

enum err cursor_check(const struct cursor *position, const struct rpc_ledger *named,
    const struct ledger *ledger, struct detail *detail)
{
    uint32_t due = position->known ? position->sequence + 1 : named->sequence;
    enum err e = check_named(due, named, ledger, detail);
    if (e != ERR_OK || !position->known)
        return e;
    if (!hash_equal(&ledger->previous_hash, &position->hash))
        return disagree(detail, ledger,
            "it does not follow from the last committed one: another network, or a reset one. " NEW_DATABASE);
    return check_order(position, ledger, detail);
}

enum err cursor_check_after_gap(const struct cursor *position, uint32_t asked, const struct rpc_ledger *named,
    const struct ledger *ledger, struct detail *detail)
{
    enum err e = check_named(asked, named, ledger, detail);
    if (e == ERR_OK && ledger->sequence <= position->sequence)
        return disagree(detail, ledger, "it is not above the last committed one");
    return e != ERR_OK ? e : check_order(position, ledger, detail);
}

enum err cursor_check_tip(const struct cursor *position, uint32_t latest, struct detail *detail)
{
    if (!position->known || latest >= position->sequence || position->sequence - latest <= LEDGERS_APART)
        return ERR_OK;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "Stellar RPC is at ledger %u, far below the last committed one, %u: behind, or reset. " NEW_DATABASE,
        latest, position->sequence);
}

struct cursor cursor_after(const struct ledger *ledger)
{
    return (struct cursor){.known = true,
        .sequence = ledger->sequence,
        .hash = ledger->hash,
        .close_time_s = ledger->close_time_s,
        .protocol = ledger->protocol};
}
