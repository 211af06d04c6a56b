/* The reading half of a grant transaction: may we grant, what time is it, which accounts are idle, who is in
 * the pool. */
#ifndef FAIRWAY_POOL_CLAIM_H
#define FAIRWAY_POOL_CLAIM_H

#include "pool/lease.h"

/* What holds for the whole batch, read in its transaction. */
struct claim_terms {
    uint64_t now_s;         /* greatest(database clock, close time of the last committed ledger) */
    uint32_t tip;           /* the last committed ledger */
    int64_t transaction_id; /* for pg_xact_status, should the COMMIT stay without an answer */
};

/* An idle account, locked FOR UPDATE until the transaction ends: not using it is all that giving it back
 * takes. */
struct claimed_account {
    struct public_key key;
    int64_t sequence, sequence_ledger;
    struct sealed_seed sealed;
};

/*
 * Begins the transaction and locks up to wanted idle accounts in random order. members answers which of the
 * count named addresses are in the pool. ERR_GRANTS_SUSPENDED: detail says why. On error the transaction is
 * rolled back.
 */
MUST_CHECK enum err claim_begin(struct db *db, unsigned ledger_seconds, size_t wanted,
    const char *const named[], bool members[], size_t named_count, struct claim_terms *terms,
    struct claimed_account accounts[], size_t *claimed, struct detail *detail);

#endif
