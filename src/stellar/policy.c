#include "stellar/policy.h"

#include <inttypes.h>

#include "named.h"
#include "operation.h"
#include "policy_fee.h"
#include "preconditions.h"
#include "soroban.h"

struct check {
    const struct envelope *envelope;
    const struct policy_limits *limits;
    struct named_accounts *named;
    struct detail *detail;
};

static enum err check_classic(const struct check *check, const struct operation *operation)
{
    if (check->envelope->soroban)
        return detail_set(check->detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "The transaction has SorobanTransactionData, but operations[%" PRIu32
            "] is not a Soroban operation.",
            operation->index);
    if (!operation->has_source)
        return detail_set(check->detail, ERR_INVALID_OPERATION_STRUCTURE,
            "operations[%" PRIu32 "] has no source account; it would act for the channel account.",
            operation->index);
    return ERR_OK;
}

static enum err check_operation(const struct operation *operation, void *context)
{
    const struct check *check = context;
    enum err e;
    switch (operation_family(operation->kind)) {
    case OPERATION_CLASSIC:
        e = check_classic(check, operation);
        break;
    case OPERATION_SOROBAN:
        e = soroban_check(check->envelope, operation, check->limits, check->named, check->detail);
        break;
    case OPERATION_UNKNOWN:
    default:
        e = detail_set(check->detail, ERR_INVALID_OPERATION_STRUCTURE,
            "operations[%" PRIu32 "] is of the unknown kind %" PRIu32 ".", operation->index, operation->kind);
    }
    if (e != ERR_OK || !operation->has_source)
        return e;
    return named_add(check->named, &operation->source, check->detail);
}

enum err policy_check(const struct envelope *envelope, const struct policy_limits *limits,
    struct named_accounts *named, struct detail *detail)
{
    struct check check = {envelope, limits, named, detail};
    enum err e;
    named->count = 0;
    /* More than 100 do not decode. */
    if (envelope->operation_count == 0)
        return detail_set(detail, ERR_INVALID_OPERATION_STRUCTURE, "The transaction has no operation.");
    if ((e = operation_each(envelope, check_operation, &check)) != ERR_OK ||
        (e = preconditions_check(&envelope->preconditions, named, detail)) != ERR_OK)
        return e;
    return policy_fee_check_bump(envelope, limits, detail);
}

static enum err found_source(const struct operation *operation, void *context)
{
    *(bool *)context |= operation->has_source;
    return ERR_OK;
}

bool policy_client_must_sign(const struct envelope *envelope)
{
    bool has_source = false;
    enum err e = operation_each(envelope, found_source, &has_source);
    return e != ERR_OK || has_source || envelope->preconditions.extra_signer_count != 0;
}

struct account_use {
    struct check check;
    const struct public_key *account;
    uint32_t operation; /* the index of the first that uses the account */
};

static enum err find_use(const struct operation *operation, void *context)
{
    struct account_use *use = context;
    use->check.named->count = 0;
    enum err e = check_operation(operation, &use->check);
    if (e != ERR_OK || !named_has(use->check.named, use->account))
        return e;
    use->operation = operation->index;
    return ERR_FORBIDDEN_SIGNER;
}

enum err policy_refuse_account(const struct envelope *envelope, const struct policy_limits *limits,
    const struct public_key *account, struct detail *detail)
{
    struct named_accounts named;
    struct account_use use = {{envelope, limits, &named, NULL}, account, 0};
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    if (operation_each(envelope, find_use, &use) == ERR_FORBIDDEN_SIGNER)
        return detail_set(detail, ERR_FORBIDDEN_SIGNER,
            "operations[%" PRIu32 "] would use the authority of the channel account %s. Use another account.",
            use.operation, address);
    return detail_set(detail, ERR_FORBIDDEN_SIGNER,
        "The extra signer %s is a channel account. Use another account.", address);
}

enum err policy_check_lease(const struct envelope *transaction, const struct public_key *signer,
    const struct policy_limits *limits, int64_t max_fee_stroops, uint64_t now_s, struct detail *detail)
{
    struct named_accounts named;
    enum err e;
    if (transaction->source_muxed || !public_key_equal(&transaction->source, signer))
        return detail_set(detail, ERR_INVALID_TRANSACTION,
            "The transaction's source is not the channel account that signs.");
    if ((e = policy_check(transaction, limits, &named, detail)) != ERR_OK)
        return e;
    if (named_has(&named, signer))
        return detail_set(detail, ERR_FORBIDDEN_SIGNER,
            "The transaction would use the authority of the channel account that signs.");
    if (transaction->fee_stroops > max_fee_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM,
            "The fee of %" PRIu32 " stroops exceeds the maximum of %" PRId64 ".", transaction->fee_stroops,
            max_fee_stroops);
    uint64_t max_time_s = transaction->preconditions.max_time_s;
    if (max_time_s == 0 || (max_time_s > now_s && max_time_s - now_s > LEASE_SECONDS_MAX))
        return detail_set(detail, ERR_INVALID_TRANSACTION,
            "The max time of a lease must be set and at most %d seconds away.", LEASE_SECONDS_MAX);
    return ERR_OK;
}
