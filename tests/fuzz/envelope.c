/* A client's transaction, from its bytes to a lease and a fee bump. The input is a TransactionEnvelope. */

#include "fuzz/fuzz.h"
#include "fuzz/xdr_mutator.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "stellar/operation.h"
#include "stellar/policy.h"
#include "xdr/xdr.h"

#define NOW_S 1000000000
#define ACCOUNTS_TRIED 8 /* of those that a transaction names; each takes a whole judgement */
static const struct policy_limits limits = {.base_fee_stroops = 100,
    .max_resource_fee_stroops = 1 << 30,
    .bump_base_fee_stroops = 100,
    .max_bump_fee_stroops = INT64_MAX};
static const struct public_key channel = {{0xc0}}, distribution = {{0xd0}};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return xdr_mutate(XDR_TransactionEnvelope, data, size, max, seed);
}

/* The lease as the engine builds it. Returns false when no lease can be made of the envelope. */
static bool build_lease(const struct envelope *envelope, const struct public_key *source, struct buf *out)
{
    struct detail detail;
    struct transaction_head head = {.source = *source, .sequence = 17};
    if (policy_fee(envelope, &limits, &head.fee_stroops, &detail) != ERR_OK ||
        policy_max_time(&envelope->preconditions, NOW_S, 30, 1000, &head.max_time_s, &detail) != ERR_OK)
        return false;
    RULE(head.max_time_s > NOW_S && head.max_time_s <= NOW_S + LEASE_SECONDS_MAX);
    transaction_build(envelope, &head, out);
    return true;
}

static enum err found_credentials(struct bytes span, void *context)
{
    RULE(be32_get(span.data) != 0); /* not those of the source, which is the channel account */
    return ERR_OK;
}

/* CAP-46-11: without such an entry a call has not the authority of the transaction's source. */
static enum err check_authority(const struct operation *operation, void *context)
{
    struct xdr_reader in = xdr_reader(operation->span);
    RULE(operation->has_source || operation->kind == INVOKE_HOST_FUNCTION);
    return operation->has_source
               ? ERR_OK
               : xdr_each(&in, XDR_Operation, XDR_SorobanCredentials, found_credentials, NULL);
}

static enum err check_lease(struct bytes transaction, const struct public_key *signer)
{
    struct envelope lease;
    struct detail detail;
    RULE(transaction_decode(transaction, &lease, &detail) == ERR_OK);
    RULE(public_key_equal(&lease.source, signer) && !lease.source_muxed);
    return policy_check_lease(&lease, signer, &limits, UINT32_MAX, NOW_S, &detail);
}

/* keyd accepts what the front accepts, but for no account whose authority the transaction uses. */
static void check_judgements(const struct envelope *envelope, const struct named_accounts *named)
{
    CLEANUP(buf_free) struct buf transaction = {0};
    struct detail detail;
    if (!build_lease(envelope, &channel, &transaction))
        return;
    enum err e = check_lease(buf_bytes(&transaction), &channel);
    RULE(e == ERR_OK && operation_each(envelope->operations, check_authority, NULL) == ERR_OK);
    for (size_t i = 0; i < named->count && i < ACCOUNTS_TRIED; i++) {
        RULE(policy_refuse_account(&limits, &named->keys[i], &detail) == ERR_FORBIDDEN_SIGNER);
        buf_clear(&transaction);
        RULE(build_lease(envelope, &named->keys[i], &transaction));
        RULE(check_lease(buf_bytes(&transaction), &named->keys[i]) == ERR_FORBIDDEN_SIGNER);
    }
}

static void check_bump(const struct envelope *inner)
{
    CLEANUP(buf_free) struct buf bump = {0}, signed_bump = {0};
    struct envelope again;
    struct detail detail;
    int64_t fee;
    const struct network_id network = network_id_of("fuzz");
    if (policy_bump_fee(inner, &limits, 100, 0, INT64_MAX, &fee, &detail) != ERR_OK)
        return;
    RULE(fee >= 100 * ((int64_t)inner->operation_count + 1));
    fee_bump_build(inner, &distribution, fee, &bump);
    fee_bump_envelope_build(buf_bytes(&bump), &distribution, &(struct signature){{0}}, &signed_bump);
    RULE(xdr_check(XDR_TransactionEnvelope, buf_bytes(&signed_bump)) == ERR_OK);
    RULE(envelope_decode(buf_bytes(&signed_bump), &again, &detail) == ERR_OK);
    RULE(again.form == ENVELOPE_FEE_BUMP && again.signature_count == inner->signature_count);
    const struct hash a = envelope_hash(&network, inner), b = envelope_hash(&network, &again);
    RULE(hash_equal(&a, &b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bytes xdr = {data, size};
    struct envelope envelope;
    struct named_accounts named;
    struct detail detail = {0};
    xdr_count_arms(XDR_TransactionEnvelope, data, size);
    enum err e = envelope_decode(xdr, &envelope, &detail);
    RULE(e == ERR_OK || (e == ERR_INVALID_TRANSACTION_XDR && detail.text[0] != '\0'));
    if (e != ERR_OK)
        return 0;
    RULE(xdr_check(XDR_TransactionEnvelope, xdr) == ERR_OK);
    RULE(envelope.operation_count <= OPERATIONS_MAX && envelope.signature_count <= SIGNATURES_MAX);
    e = policy_check(&envelope, &limits, &named, &detail);
    if (e == ERR_OK)
        check_judgements(&envelope, &named);
    else
        RULE(detail.text[0] != '\0');
    if (envelope.form != ENVELOPE_FEE_BUMP)
        check_bump(&envelope);
    return 0;
}
