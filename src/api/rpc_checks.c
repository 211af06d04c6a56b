/* What the RPC is asked before a lease or a fee bump. A failed RPC refuses the request; it never lets one
 * pass. */
#include "rpc_checks.h"

#include "stellar/envelope_build.h"

/* The cause is in detail, which is logged. Nothing about it is the client's fault. */
static enum err no_result(enum err e)
{
    return e == ERR_CANCELLED ? ERR_SHUTTING_DOWN : ERR_RPC_UNAVAILABLE;
}

/* As V1 and without signatures, whatever form the client has sent. */
static void unsigned_envelope(const struct envelope *envelope, struct buf *out)
{
    struct buf transaction = {0};
    const struct transaction_head head = {
        envelope->source, envelope->fee_stroops, envelope->sequence, envelope->preconditions.max_time_s};
    transaction_build(envelope, &head, &transaction);
    envelope_build(buf_bytes(&transaction), NULL, NULL, 0, out);
    buf_free(&transaction);
}

enum err rpc_checks_simulate(struct rpc *rpc, const struct envelope *envelope, struct detail *detail)
{
    struct buf xdr = {0};
    struct rpc_simulation simulation;
    unsigned_envelope(envelope, &xdr);
    enum err e = rpc_simulate(rpc, buf_bytes(&xdr), policy_invokes(envelope), &simulation, detail);
    buf_free(&xdr);
    if (e != ERR_OK)
        return no_result(e);
    if (!simulation.succeeds)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "The transaction fails when it is simulated: %s", simulation.error);
    return policy_check_simulated_fee(envelope, simulation.resource_fee_stroops, detail);
}

enum err rpc_checks_signers(struct rpc *rpc, const struct envelope *envelope, const struct hash *hash,
    enum authority *authority, struct detail *detail)
{
    struct public_key sources[OPERATIONS_MAX];
    struct buf entries[OPERATIONS_MAX] = {0};
    uint32_t ledger;
    unsigned verifications = AUTHORITY_VERIFICATIONS_MAX;
    const size_t count = authority_sources(envelope, sources);
    enum err e = rpc_account_entries(rpc, sources, count, entries, &ledger, detail);
    for (size_t i = 0; i < count; i++) {
        if (e == ERR_OK && authority_proved_by(envelope, hash, buf_bytes(&entries[i]), &verifications))
            *authority = AUTHORITY_PROVED;
        buf_free(&entries[i]);
    }
    return e == ERR_OK ? ERR_OK : no_result(e);
}
