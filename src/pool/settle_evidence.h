/*
 * What is proved about the pool, in one form: by a ledger, or by a look at the network behind a gap in the
 * ledgers. Pure; borrows what it is made of.
 */
#ifndef FAIRWAY_POOL_SETTLE_EVIDENCE_H
#define FAIRWAY_POOL_SETTLE_EVIDENCE_H

#include "pool/settle.h"

struct account_evidence {
    char address[ADDRESS_SIZE];
    const struct ledger_account *seen; /* NULL: nothing but that it is frozen */
    uint32_t ledger;                   /* as of which seen holds */
    bool frozen;                       /* a transaction that touches it is invalid (CAP-77) */
};

struct evidence {
    bool gap;
    uint32_t sequence; /* of the ledger that is being committed */
    uint64_t close_time_s;
    /* The innermost transactions that consumed their sequence numbers. */
    struct bytes *hashes;
    const char **codes;
    int64_t *ledgers; /* which have them */
    size_t count;
    struct account_evidence *accounts; /* each once */
    const char **addresses;            /* theirs */
    size_t account_count;
};

struct evidence evidence_of_ledger(const struct ledger *ledger);
struct evidence evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads);
void evidence_free(struct evidence *evidence);

#endif
