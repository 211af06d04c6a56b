#include "position.h"

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

enum err position_check(const struct position *position, const struct rpc_ledger *named,
    const struct ledger *ledger, struct detail *detail)
{
    uint32_t due = position->known ? position->sequence + 1 : named->sequence;
    if (named->sequence != due || ledger->sequence != due)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "ledger %u is due; Stellar RPC named %u and sent %u (is this a reset network? It needs a new"
            " database)",
            due, named->sequence, ledger->sequence);
    enum err e = check_proofs(named, ledger, detail);
    if (e != ERR_OK || !position->known)
        return e;
    if (!hash_equal(&ledger->previous_hash, &position->hash))
        return disagree(detail, ledger,
            "it does not follow from the last committed one: another network, or one that was reset, needs a"
            " new database");
    if (ledger->close_time_s < position->close_time_s)
        return disagree(detail, ledger, "it closed before the last committed one");
    if (ledger->protocol < position->protocol)
        return disagree(detail, ledger, "its protocol is older than the last committed one's");
    return ERR_OK;
}

struct position position_after(const struct ledger *ledger)
{
    return (struct position){.known = true,
        .sequence = ledger->sequence,
        .hash = ledger->hash,
        .close_time_s = ledger->close_time_s,
        .protocol = ledger->protocol};
}
