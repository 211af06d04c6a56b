/* The request target (RFC 9112 section 3.2.1, origin form): path and query, split and decoded strictly. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#define TARGET_QUERY_MAX 16

struct target {
    char *raw;  /* as sent; never NULL after target_parse */
    char *path; /* as sent, still encoded, without the query; never NULL after target_parse */
    struct {
        const char *name, *value; /* decoded; "" for a name without '=' */
        bool read;                /* by target_query */
    } query[TARGET_QUERY_MAX];
    size_t query_count;
};

/*
 * ERR_INVALID_REQUEST: not an absolute path, a byte that is not visible ASCII, a broken escape or %00 in the
 * query, a name that occurs twice, more than TARGET_QUERY_MAX names. Wipe in either case.
 */
MUST_CHECK enum err target_parse(struct target *target, const char *raw, struct detail *detail);
void target_wipe(struct target *target);
const char *target_query(struct target *target, const char *name); /* NULL: absent */
