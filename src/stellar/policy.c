/* Which transactions are signed, by their bytes and the limits alone: no clock, no network, no database. */
#include "stellar/policy.h"

#include <inttypes.h>

#include "policy_parts.h"
#include "operation.h"
#include "signer_key.h"
#include "soroban.h"
#include "stellar/envelope_build.h"
#include "stellar/strkey.h"

#define HOST_FUNCTION_INVOKE_CONTRACT 0 /* HostFunctionType */

struct check {
    const struct envelope *envelope;
    const struct policy_limits *limits;
    struct named_accounts *named;
    struct detail *detail;
};

/* A key that becomes a signer of the operation's source: later its signature of a lease would count for that
 * account too. Weight 0 removes a signer. */
static enum err found_signer(struct bytes signer, void *context)
{
    const struct check *check = context;
    struct signer_key key;
    struct public_key account;
    enum err e = signer_key_read(signer, &key);
    if (e != ERR_OK || be32_get(signer.data + signer.len - 4) == 0 || !signer_key_account(&key, &account))
        return e;
    return named_add(check->named, &account, check->detail);
}

static enum err check_classic(struct check *check, const struct operation *operation)
{
    struct xdr_reader in = xdr_reader(operation->span);
    if (check->envelope->soroban)
        return detail_set(check->detail,
            ERR_INVALID_SOROBAN_TRANSACTION, /* stellar-core: commonValidPreSeqNum */
            "The transaction has SorobanTransactionData, but operations[%" PRIu32
            "] is not a Soroban operation.",
            operation->index);
    if (operation->kind != SET_OPTIONS)
        return ERR_OK;
    return xdr_each(&in, XDR_Operation, XDR_Signer, found_signer, check);
}

static enum err check_operation(const struct operation *operation, void *context)
{
    struct check *check = context;
    enum err e = operation->has_source ? ERR_OK : soroban_check_without_source(operation, check->detail);
    if (e == ERR_OK)
        e = operation->kind < INVOKE_HOST_FUNCTION
                ? check_classic(check, operation)
                : soroban_check(check->envelope, operation, check->limits, check->named, check->detail);
    if (e != ERR_OK || !operation->has_source)
        return e;
    return named_add(check->named, &operation->source, check->detail);
}

/* The envelope of the lease, with the signatures of the channel account and of one client. */
static enum err check_size(const struct envelope *envelope, struct detail *detail)
{
    const size_t max = envelope->soroban ? SOROBAN_ENVELOPE_MAX : CLASSIC_ENVELOPE_MAX;
    const size_t size = envelope_built_size(envelope, 2);
    if (size <= max)
        return ERR_OK;
    return detail_set(detail, ERR_INVALID_TRANSACTION, /* policy.h: the two limits */
        "The transaction takes %zu bytes with two signatures; the network takes at most %zu.", size, max);
}

enum err policy_check(const struct envelope *envelope, const struct policy_limits *limits,
    struct named_accounts *named, struct detail *detail)
{
    struct check check = {envelope, limits, named, detail};
    enum err e;
    named->count = 0;
    /* More than 100 do not decode. */
    if (envelope->operation_count == 0)
        return detail_set(detail, ERR_INVALID_OPERATION_STRUCTURE, /* txMISSING_OPERATION */
            "The transaction has no operation.");
    if ((e = operation_each(envelope->operations, check_operation, &check)) != ERR_OK ||
        (e = preconditions_check(&envelope->preconditions, named, detail)) != ERR_OK ||
        (e = check_size(envelope, detail)) != ERR_OK)
        return e;
    if (named_has(named, &limits->distribution))
        return policy_refuse_account(limits, &limits->distribution, detail);
    return policy_fee_check_bump(envelope, limits, detail);
}

static enum err read_first(const struct operation *operation, void *context)
{
    if (operation->index == 0)
        *(struct operation *)context = *operation;
    return ERR_OK;
}

bool policy_invokes(const struct envelope *envelope)
{
    struct operation first = {0};
    return operation_each(envelope->operations, read_first, &first) == ERR_OK &&
           first.kind == INVOKE_HOST_FUNCTION;
}

bool policy_invokes_for_entries(const struct envelope *envelope)
{
    struct operation first = {0};
    return operation_each(envelope->operations, read_first, &first) == ERR_OK &&
           first.kind == INVOKE_HOST_FUNCTION && !first.has_source;
}

void policy_invoked_contract(const struct envelope *envelope, char out[static ADDRESS_SIZE])
{
    struct operation first = {0}, head;
    struct public_key contract;
    out[0] = '\0';
    if (envelope->operation_count != 1 ||
        operation_each(envelope->operations, read_first, &first) != ERR_OK ||
        first.kind != INVOKE_HOST_FUNCTION)
        return;
    struct xdr_reader in = xdr_reader(first.span);
    operation_head_read(&in, &head);
    const uint32_t function = xdr_u32(&in), address = xdr_u32(&in);
    xdr_opaque(&in, contract.bytes, sizeof contract.bytes);
    if (in.e == ERR_OK && function == HOST_FUNCTION_INVOKE_CONTRACT && address == SC_ADDRESS_CONTRACT)
        strkey_encode(STRKEY_CONTRACT, contract.bytes, out);
}

enum err policy_refuse_account(
    const struct policy_limits *limits, const struct public_key *account, struct detail *detail)
{
    const char *role = public_key_equal(account, &limits->distribution) ? "the distribution" : "a channel";
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    return detail_set(detail, ERR_FORBIDDEN_SIGNER, /* ours: promise 1, and a second wall before keys */
        "The transaction needs, or gives, the authority of %s account (%s). Use another account.", role,
        address);
}

enum err policy_check_lease(const struct envelope *transaction, const struct public_key *signer,
    const struct policy_limits *limits, int64_t max_fee_stroops, uint64_t now_s, struct detail *detail)
{
    struct named_accounts named;
    enum err e;
    if (transaction->source_muxed || !public_key_equal(&transaction->source, signer))
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: what a lease is */
            "The transaction's source is not the channel account that signs.");
    if ((e = policy_check(transaction, limits, &named, detail)) != ERR_OK)
        return e;
    if (named_has(&named, signer))
        return detail_set(detail,
            ERR_FORBIDDEN_SIGNER, /* ours: an account of the pool signs as the source alone */
            "The transaction would use the authority of the channel account that signs.");
    if (transaction->fee_stroops > max_fee_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* ours: keyd's own limit */
            "The fee of %" PRIu32 " stroops exceeds the maximum of %" PRId64 ".", transaction->fee_stroops,
            max_fee_stroops);
    uint64_t max_time_s = transaction->preconditions.max_time_s;
    if (max_time_s == 0 || (max_time_s > now_s && max_time_s - now_s > LEASE_SECONDS_MAX))
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: every lease ends */
            "The max time of a lease must be set and at most %d seconds away.", LEASE_SECONDS_MAX);
    return ERR_OK;
}
