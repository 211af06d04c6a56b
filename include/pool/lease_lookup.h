/* Looks up what became of transactions, by the hashes of leases or of fee bumps. */
#ifndef FAIRWAY_POOL_LEASE_LOOKUP_H
#define FAIRWAY_POOL_LEASE_LOOKUP_H

#include "db/db.h"
#include "stellar/ids.h"

struct lease_status {
    struct hash hash; /* of the lease: the inner transaction */
    char account[ADDRESS_SIZE];
    int64_t sequence;
    int64_t max_time_s;
    char status[16];      /* pending, confirmed, failed, expired, superseded, consumed */
    char result_code[40]; /* "txFEE_BUMP_INNER_SUCCESS"; '' if no ledger has the transaction */
    int64_t ledger;       /* the ledger that settled the lease; 0: pending */
    int64_t closed_at_s;  /* close time of that ledger; 0: unknown */
};

struct lease_lookup {
    struct hash hash;   /* of a lease or of a fee bump */
    const char *client; /* only leases of this client are found */
    bool found;
    struct lease_status status; /* if found */
};

/*
 * One statement for all of them, which asks for each hash once. Its cost grows with the square of the number
 * of different hashes: keep that to some hundred. Sets found and status of each.
 */
MUST_CHECK enum err lease_lookup(
    struct db *db, struct lease_lookup lookups[], size_t count, struct detail *detail);

#endif
