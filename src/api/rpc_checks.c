/* What the RPC is asked before a lease or a fee bump. A failed RPC refuses the request; it never lets one
 * pass. */
#include "rpc_checks.h"

#include "base/mem.h"
#include "stellar/envelope_build.h"

/* The cause is in detail, which is logged. Nothing about it is the client's fault. */
static enum err no_result(enum err e)
{
    return e == ERR_CANCELLED ? ERR_SHUTTING_DOWN : ERR_RPC_UNAVAILABLE;
}

enum err rpc_checks_simulate(struct rpc *rpc, const struct envelope *envelope,
    const struct public_key *source, struct rpc_simulation *out, struct detail *detail)
{
    struct buf xdr CLEANUP(buf_free) = {0}, transaction CLEANUP(buf_free) = {0};
    const struct transaction_head head = {
        *source, envelope->fee_stroops, envelope->sequence, envelope->preconditions.max_time_s};
    transaction_build(envelope, &head, &transaction); /* as V1, whatever form the client has sent */
    envelope_build(buf_bytes(&transaction), NULL, NULL, 0, &xdr);
    enum err e = rpc_simulate(rpc, buf_bytes(&xdr), policy_invokes(envelope), out, detail);
    if (e != ERR_OK)
        return no_result(e);
    if (!out->succeeds)
        return detail_set(
            detail, ERR_SIMULATION_FAILED, "The transaction fails when it is simulated: %s", out->error);
    if (out->restores)
        return detail_set(detail, ERR_SIMULATION_FAILED,
            "The transaction needs entries that are archived. Restore them first, with a transaction of its "
            "own (RestoreFootprint).");
    return ERR_OK;
}

enum err rpc_checks_signers(struct rpc *rpc, const struct envelope *envelope, const struct hash *hash,
    enum authority *authority, struct detail *detail)
{
    struct public_key sources[OPERATIONS_MAX];
    struct buf entries[OPERATIONS_MAX] = {0};
    uint32_t ledger;
    unsigned verifications = AUTHORITY_VERIFICATIONS_MAX;
    const size_t count = authority_sources(envelope, sources);
    if (count == 0) /* a call without a source, whose extra signers have not signed */
        return ERR_OK;
    enum err e = rpc_account_entries(rpc, sources, count, entries, &ledger, detail);
    for (size_t i = 0; i < count; i++) {
        if (e == ERR_OK && authority_proved_by(envelope, hash, buf_bytes(&entries[i]), &verifications))
            *authority = AUTHORITY_PROVED;
        buf_free(&entries[i]);
    }
    return e == ERR_OK ? ERR_OK : no_result(e);
}
