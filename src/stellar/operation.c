/* Operations one by one. Which of them are allowed, policy.c says. */
#include "operation.h"

#include "stellar/account.h"

void operation_head_read(struct xdr_reader *in, struct operation *out)
{
    out->has_source = xdr_bool(in);
    if (out->has_source)
        out->source = account_muxed_read(in, &out->source_muxed);
    out->kind = xdr_u32(in);
}

enum err operation_each(struct bytes operations, operation_visit visit, void *context)
{
    struct xdr_reader in = xdr_reader(operations);
    const uint32_t count = xdr_count(&in, OPERATIONS_MAX);
    enum err e = in.e;
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        struct operation operation = {.index = i, .span = xdr_take(&in, XDR_Operation)};
        struct xdr_reader inside = xdr_reader(operation.span);
        operation_head_read(&inside, &operation);
        e = inside.e != ERR_OK ? inside.e : visit(&operation, context);
    }
    return e;
}
