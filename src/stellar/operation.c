/* Operations one by one. Which of them are allowed, policy.c says. */
#include "operation.h"

#include "stellar/account.h"

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

enum err operation_each(struct bytes operations, operation_visit visit, void *context)
{
    struct xdr_reader in = xdr_reader(operations);
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
