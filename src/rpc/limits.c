/* What a response may have. Nothing is counted here. */
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
