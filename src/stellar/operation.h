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

enum {
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

/* Calls visit for each operation in order until it returns an error. */
typedef enum err (*operation_visit)(const struct operation *operation, void *context);
MUST_CHECK enum err operation_each(const struct envelope *envelope, operation_visit visit, void *context);

enum operation_family operation_family(uint32_t kind);

#endif
