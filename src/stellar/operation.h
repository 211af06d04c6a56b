/* The operations of a transaction: kind and source of each. */
#pragma once

#include "stellar/envelope.h"
#include "xdr/xdr.h"

/* OperationType. The classic ones come before INVOKE_HOST_FUNCTION, those of Soroban from it on; no rule
 * covers any after RESTORE_FOOTPRINT, which tests/unit/stellar/test_policy_property compares with the schema.
 */
enum {
    CREATE_ACCOUNT = 0,
    PATH_PAYMENT_STRICT_RECEIVE = 2,
    MANAGE_SELL_OFFER = 3,
    CREATE_PASSIVE_SELL_OFFER = 4,
    SET_OPTIONS = 5,
    ACCOUNT_MERGE = 8,
    MANAGE_BUY_OFFER = 12,
    PATH_PAYMENT_STRICT_SEND = 13,
    BEGIN_SPONSORING_FUTURE_RESERVES = 16,
    END_SPONSORING_FUTURE_RESERVES = 17,
    INVOKE_HOST_FUNCTION = 24,
    EXTEND_FOOTPRINT_TTL = 25,
    RESTORE_FOOTPRINT = 26,
};

struct operation {
    uint32_t index;
    uint32_t kind; /* OperationType */
    bool has_source, source_muxed;
    struct public_key source;
    struct bytes span; /* the whole Operation */
};

/* Reads kind and source of an operation that has been validated, up to its body. Its index and span are left
 * as they are. */
void operation_head_read(struct xdr_reader *in, struct operation *out);

/* Calls visit for each operation of an envelope's list, in order, until it returns an error. */
typedef enum err (*operation_visit)(const struct operation *operation, void *context);
MUST_CHECK enum err operation_each(struct bytes operations, operation_visit visit, void *context);
