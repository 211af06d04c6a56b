/* Limits of a response, before it is parsed (json_is_within). */
#ifndef FAIRWAY_RPC_LIMITS_H
#define FAIRWAY_RPC_LIMITS_H

#include <stddef.h>

struct limits {
    const char *method;
    size_t bytes;
    size_t values; /* objects, arrays, members, elements */
    unsigned depth;
};

/* Of a method, or of methods that are not in the table. */
const struct limits *limits_of(const char *method);

#endif
