/* Counts what a response has before it is parsed. Nothing is decoded here. */
#include "limits.h"

#include <string.h>

#include "base/mem.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/*
 * Far above what stellar-rpc sends: a ledger has 8 members, an entry 6. The diagnostic events of a
 * transaction are an array of strings. getLedgers: ingestion asks for fewer ledgers when they are too large
 * together.
 */
static const struct limits table[] = {
    {"getHealth", 64 * KIB, 1000, 16},
    {"getNetwork", 64 * KIB, 1000, 16},
    {"getLedgers", 64 * MIB, 10000, 16},
    {"getLedgerEntries", 16 * MIB, 20000, 16},
    {"getTransaction", 32 * MIB, 100000, 16},
    {"sendTransaction", 4 * MIB, 20000, 16},
};

static const struct limits others = {"", 32 * MIB, 100000, 64};

const struct limits *limits_of(const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].method, method) == 0)
            return &table[i];
    return &others;
}

/* Returns the position after the string that begins before at. */
static const uint8_t *skip_string(const uint8_t *at, const uint8_t *end)
{
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

/* Every value but the first one of an array or object comes after a comma or a colon. */
enum err limits_check(const struct limits *limits, struct bytes json, struct detail *detail)
{
    size_t values = 1, depth = 0;
    const uint8_t *at = json.data,
                  *end = json.len == 0 ? at : at + json.len; /* without bytes, data is NULL */
    while (at < end) {
        switch (*at++) {
        case '"':
            at = skip_string(at, end);
            break;
        case '[':
        case '{':
            depth++;
            values++;
            break;
        case ']':
        case '}':
            depth -= depth > 0;
            break;
        case ',':
        case ':':
            values++;
            break;
        }
        if (depth > limits->depth)
            return detail_set(detail, ERR_RPC_UNAVAILABLE, "the response is nested more than %u levels deep",
                limits->depth);
        if (values > limits->values)
            return detail_set(
                detail, ERR_RPC_UNAVAILABLE, "the response has more than %zu values", limits->values);
    }
    return ERR_OK;
}
