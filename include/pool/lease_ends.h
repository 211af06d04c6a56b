/* The leases that a ledger ended, for those who wait for them in the process that committed the ledger. */
#pragma once

#include "stellar/ids.h"

/* What is known of a transaction that is in a ledger; {0}: it is in none. Refers to memory of the ledger. */
struct lease_outcome {
    const struct hash *hash;   /* its hash in the ledger: the fee bump's own; NULL: not known */
    struct bytes result;       /* TransactionResult; empty: not known */
    struct bytes return_value; /* SCVal; empty: none */
};

struct lease_end {
    struct hash hash;          /* the lease's; first: see hash_compare */
    const char *result, *code; /* constants: as in fairway.lease_results; code NULL: none */
    struct lease_outcome outcome;
};

struct lease_ends {
    struct lease_end *items; /* lease_ends_sort: in the order of their hashes */
    size_t count;
    int64_t ledger, closed_at_s; /* the ledger that ended all of them */
};

void lease_ends_free(struct lease_ends *ends);
void lease_ends_sort(struct lease_ends *ends);
/* NULL: the ledger did not end this lease. The ends are sorted. */
const struct lease_end *lease_ends_find(const struct lease_ends *ends, const struct hash *hash);

/* Called with the ends of a ledger, sorted, after its COMMIT has succeeded, while the ledger's memory lives.
 */
struct lease_ends_listener {
    void (*ended)(void *context, const struct lease_ends *ends); /* NULL: nobody listens. Returns soon */
    void *context;
};
