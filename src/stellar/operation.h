/* What policy needs to know of an Operation: whose authority it uses, and its kind. */
#ifndef FAIRWAY_SRC_STELLAR_OPERATION_H
#define FAIRWAY_SRC_STELLAR_OPERATION_H

#include "stellar/envelope.h"
#include "xdr/xdr.h"

enum operation_family {
    OPERATION_CLASSIC,
    OPERATION_SOROBAN,
    OPERATION_UNKNOWN, /* the schema knows it, this file does not: newer than the rules */
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

/* For each operation in turn; an error that visit returns ends it. */
typedef enum err (*operation_visit)(const struct operation *operation, void *context);
MUST_CHECK enum err operation_each(const struct envelope *envelope, operation_visit visit, void *context);

enum operation_family operation_family(uint32_t kind);

#endif
