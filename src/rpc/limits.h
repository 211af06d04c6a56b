/* Limits of a response, checked on its bytes: a tree of JSON values takes up to fifty times their size. */
#ifndef FAIRWAY_RPC_LIMITS_H
#define FAIRWAY_RPC_LIMITS_H

#include "base/bytes.h"
#include "base/err.h"

struct limits {
    const char *method;
    size_t bytes;
    size_t values; /* objects, arrays, members, elements */
    unsigned depth;
};

/* Of a method, or of methods that are not in the table. */
const struct limits *limits_of(const char *method);

/* Counts without reading the values, in one pass and without memory. ERR_RPC_UNAVAILABLE, with detail: too
 * many values, or too deep. Whether the text is JSON is not checked. */
MUST_CHECK enum err limits_check(const struct limits *limits, struct bytes json, struct detail *detail);

#endif
