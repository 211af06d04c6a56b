/* The operations of a transaction: kind and source of each. */
#ifndef FAIRWAY_SRC_STELLAR_OPERATION_H
#define FAIRWAY_SRC_STELLAR_OPERATION_H

#include "stellar/envelope.h"
#include "xdr/xdr.h"

enum operation_family {
    OPERATION_CLASSIC,
    OPERATION_SOROBAN,
    OPERATION_UNKNOWN, /* in the schema, but the rules of policy.h do not cover it */
};

/* OperationType. Every kind that the rules cover; tests/unit/stellar/test_policy_arms compares with the
 * schema. */
enum {
    CREATE_ACCOUNT = 0,
    PAYMENT = 1,
    PATH_PAYMENT_STRICT_RECEIVE = 2,
    MANAGE_SELL_OFFER = 3,
    CREATE_PASSIVE_SELL_OFFER = 4,
    SET_OPTIONS = 5,
    CHANGE_TRUST = 6,
    ALLOW_TRUST = 7,
    ACCOUNT_MERGE = 8,
    INFLATION = 9,
    MANAGE_DATA = 10,
    BUMP_SEQUENCE = 11,
    MANAGE_BUY_OFFER = 12,
    PATH_PAYMENT_STRICT_SEND = 13,
    CREATE_CLAIMABLE_BALANCE = 14,
    CLAIM_CLAIMABLE_BALANCE = 15,
    BEGIN_SPONSORING_FUTURE_RESERVES = 16,
    END_SPONSORING_FUTURE_RESERVES = 17,
    REVOKE_SPONSORSHIP = 18,
    CLAWBACK = 19,
    CLAWBACK_CLAIMABLE_BALANCE = 20,
    SET_TRUST_LINE_FLAGS = 21,
    LIQUIDITY_POOL_DEPOSIT = 22,
    LIQUIDITY_POOL_WITHDRAW = 23,
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
MUST_CHECK enum err operation_head_read(struct xdr_reader *in, struct operation *out);

/* Calls visit for each operation in order until it returns an error. */
typedef enum err (*operation_visit)(const struct operation *operation, void *context);
MUST_CHECK enum err operation_each(const struct envelope *envelope, operation_visit visit, void *context);

enum operation_family operation_family(uint32_t kind);

#endif
