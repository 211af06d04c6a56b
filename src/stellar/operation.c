#include "operation.h"

#include "stellar/account.h"

enum {
    LIQUIDITY_POOL_WITHDRAW = 23, /* the last classic kind; they begin at 0 without a gap */
};

enum operation_family operation_family(uint32_t kind)
{
    if (kind <= LIQUIDITY_POOL_WITHDRAW)
        return OPERATION_CLASSIC;
    return kind <= RESTORE_FOOTPRINT ? OPERATION_SOROBAN : OPERATION_UNKNOWN;
}

static enum err read_operation(struct xdr_reader *in, struct operation *out)
{
    enum err e = xdr_take(in, XDR_Operation, &out->span);
    if (e != ERR_OK)
        return e;
    struct xdr_reader inside = xdr_reader(out->span);
    if ((e = xdr_bool(&inside, &out->has_source)) != ERR_OK ||
        (out->has_source && (e = account_muxed_read(&inside, &out->source, &out->source_muxed)) != ERR_OK))
        return e;
    return xdr_u32(&inside, &out->kind);
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
