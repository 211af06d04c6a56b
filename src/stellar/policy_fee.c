/* Fees: of a lease, of its resources, of a fee bump. Who pays how much in all, is not counted here. */
#include "stellar/policy.h"

#include <inttypes.h>

#include "policy_parts.h"

enum err policy_fee_check_resource(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail)
{
    if (envelope->resource_fee_stroops < 0)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION, /* stellar-core: XDRProvidesValidFee */
            "The transaction's resource fee is negative.");
    if (envelope->resource_fee_stroops > limits->max_resource_fee_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* ours: MAX_RESOURCE_FEE */
            "The transaction's resource fee of %" PRId64 " stroops exceeds the maximum of %" PRId64 ".",
            envelope->resource_fee_stroops, limits->max_resource_fee_stroops);
    return ERR_OK;
}

enum err policy_check_simulated_fee(
    const struct envelope *envelope, int64_t simulated_stroops, struct detail *detail)
{
    int64_t max;
    if (__builtin_mul_overflow(simulated_stroops, (int64_t)RESOURCE_FEE_FACTOR_MAX, &max) ||
        envelope->resource_fee_stroops <= max)
        return ERR_OK;
    return detail_set(detail, ERR_RESOURCES_OUTDATED, /* ours: declared resources are charged, used or not */
        "The transaction's resource fee of %" PRId64 " stroops is more than %d times the %" PRId64
        " that its simulation needs now. Prepare it again: simulate it, and use the new resource data.",
        envelope->resource_fee_stroops, RESOURCE_FEE_FACTOR_MAX, simulated_stroops);
}

enum err policy_fee(const struct envelope *envelope, const struct policy_limits *limits,
    uint32_t *fee_stroops, struct detail *detail)
{
    enum err e = policy_fee_check_resource(envelope, limits, detail);
    if (e != ERR_OK)
        return e;
    /* Neither term reaches 2^63. */
    uint64_t fee = (uint64_t)limits->base_fee_stroops * envelope->operation_count +
                   (uint64_t)envelope->resource_fee_stroops;
    if (fee > UINT32_MAX)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* XDR: Transaction.fee */
            "The transaction's fee of %" PRIu64 " stroops exceeds the maximum of %" PRIu32 ".", fee,
            UINT32_MAX);
    *fee_stroops = (uint32_t)fee;
    return ERR_OK;
}

/*
 * The least inclusion fee that stellar-core accepts (FeeBumpTransactionFrame::commonValidPreSeqNum): per
 * operation no less than the inner transaction's, where the fee bump counts as one more operation. base fee x
 * (operations + 1) is enough when the lease was granted under the present base fee. It may be too low when
 * the base fee was higher then.
 */
static int64_t least_by_rate(int64_t inclusion, int64_t operations)
{
    return inclusion <= 0 ? 0 : (inclusion * (operations + 1) + operations - 1) / operations;
}

/* The least fee of a fee bump for inner, which has at least one operation and the fee inner_fee_stroops.
 * False when it does not fit int64. */
static bool least_bump_fee(const struct envelope *inner, int64_t inner_fee_stroops,
    int64_t bump_base_fee_stroops, int64_t *least_stroops)
{
    const int64_t operations = inner->operation_count;
    const int64_t by_rate = least_by_rate(inner_fee_stroops - inner->resource_fee_stroops, operations);
    int64_t inclusion;
    if (__builtin_mul_overflow(bump_base_fee_stroops, operations + 1, &inclusion))
        return false;
    if (inclusion < by_rate)
        inclusion = by_rate;
    return !__builtin_add_overflow(inclusion, inner->resource_fee_stroops, least_stroops);
}

enum err policy_fee_check_bump(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail)
{
    uint32_t fee_stroops = 0;
    int64_t least, cap;
    enum err e = policy_fee(envelope, limits, &fee_stroops, detail);
    if (e != ERR_OK || limits->max_bump_fee_stroops == 0)
        return e;
    if (__builtin_add_overflow(limits->max_bump_fee_stroops, envelope->resource_fee_stroops, &cap))
        cap = INT64_MAX;
    if (!least_bump_fee(envelope, fee_stroops, limits->bump_base_fee_stroops, &least))
        least = INT64_MAX;
    if (least > cap)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* ours: MAX_FEE, before an account is taken */
            "A fee bump for this transaction costs at least %" PRId64
            " stroops, which exceeds the maximum of %" PRId64 ": use fewer operations.",
            least, cap);
    return ERR_OK;
}

enum err policy_bump_fee(const struct envelope *inner, const struct policy_limits *limits,
    int64_t bump_base_fee_stroops, int64_t max_fee_stroops, int64_t cap_stroops, int64_t *fee_stroops,
    struct detail *detail)
{
    int64_t least;
    enum err e = policy_fee_check_resource(inner, limits, detail);
    if (e != ERR_OK)
        return e;
    if (inner->operation_count == 0)
        return detail_set(detail, ERR_INVALID_OPERATION_STRUCTURE, /* txMISSING_OPERATION */
            "The transaction has no operation.");
    if (!least_bump_fee(inner, inner->fee_stroops, bump_base_fee_stroops, &least) || least > cap_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* ours: MAX_FEE */
            "The least fee of a fee bump for this transaction exceeds the maximum of %" PRId64 " stroops.",
            cap_stroops);
    if (max_fee_stroops == 0)
        max_fee_stroops = least;
    if (max_fee_stroops < least)
        return detail_set(detail, ERR_FEE_BELOW_MINIMUM, /* CAP-15; ours: FEE_BUMP_BASE_FEE */
            "maxFee is %" PRId64 " stroops, but a fee bump for this transaction costs at least %" PRId64
            ". Leave maxFee out to pay the least.",
            max_fee_stroops, least);
    if (max_fee_stroops > cap_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, /* ours: MAX_FEE */
            "maxFee is %" PRId64 " stroops, which exceeds the maximum of %" PRId64 ".", max_fee_stroops,
            cap_stroops);
    *fee_stroops = max_fee_stroops;
    return ERR_OK;
}
