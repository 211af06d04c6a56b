/* Operations one by one. Which of them are allowed, policy.c says. */
#include "operation.h"

#include "stellar/account.h"

enum operation_family operation_family(uint32_t kind)
{
    switch (kind) {
    case CREATE_ACCOUNT:
    case PAYMENT:
    case PATH_PAYMENT_STRICT_RECEIVE:
    case MANAGE_SELL_OFFER:
    case CREATE_PASSIVE_SELL_OFFER:
    case SET_OPTIONS:
    case CHANGE_TRUST:
    case ALLOW_TRUST:
    case ACCOUNT_MERGE:
    case INFLATION:
    case MANAGE_DATA:
    case BUMP_SEQUENCE:
    case MANAGE_BUY_OFFER:
    case PATH_PAYMENT_STRICT_SEND:
    case CREATE_CLAIMABLE_BALANCE:
    case CLAIM_CLAIMABLE_BALANCE:
    case BEGIN_SPONSORING_FUTURE_RESERVES:
    case END_SPONSORING_FUTURE_RESERVES:
    case REVOKE_SPONSORSHIP:
    case CLAWBACK:
    case CLAWBACK_CLAIMABLE_BALANCE:
    case SET_TRUST_LINE_FLAGS:
    case LIQUIDITY_POOL_DEPOSIT:
    case LIQUIDITY_POOL_WITHDRAW:
        return OPERATION_CLASSIC;
    case INVOKE_HOST_FUNCTION:
    case EXTEND_FOOTPRINT_TTL:
    case RESTORE_FOOTPRINT:
        return OPERATION_SOROBAN;
    default:
        return OPERATION_UNKNOWN;
    }
}

enum err operation_head_read(struct xdr_reader *in, struct operation *out)
{
    enum err e = xdr_bool(in, &out->has_source);
    if (e != ERR_OK ||
        (out->has_source && (e = account_muxed_read(in, &out->source, &out->source_muxed)) != ERR_OK))
        return e;
    return xdr_u32(in, &out->kind);
}

static enum err read_operation(struct xdr_reader *in, struct operation *out)
{
    enum err e = xdr_take(in, XDR_Operation, &out->span);
    if (e != ERR_OK)
        return e;
    struct xdr_reader inside = xdr_reader(out->span);
    return operation_head_read(&inside, out);
}

enum err operation_each(const struct envelope *envelope, operation_visit visit, void *context)
{
    struct xdr_reader in = xdr_reader(envelope->operations);
    uint32_t count;
    enum err e = xdr_count(&in, OPERATIONS_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        struct operation operation = {.index = i};
        e = read_operation(&in, &operation);
        if (e == ERR_OK)
            e = visit(&operation, context);
    }
    return e;
}
