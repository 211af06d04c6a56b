/* Fee bumps of open leases: what signing one needs, and the row that records it. */
#ifndef FAIRWAY_POOL_FEE_BUMP_H
#define FAIRWAY_POOL_FEE_BUMP_H

#include "db/db.h"
#include "keys/keyd.h"
#include "stellar/envelope.h"

/* What a fee bump needs of a lease. */
struct fee_bump_lease {
    struct public_key account;
    struct sealed_seed sealed;
    int64_t spendable_stroops; /* of the distribution account (pool/funds.h) */
};

/*
 * Finds the open lease of this client by the hash of its transaction. Otherwise detail says what to do:
 * ERR_LEASE_EXPIRED, ERR_LEASE_SETTLED: the lease has ended. ERR_TRANSACTION_CHANGED: the source account is
 * leased to this client, for a transaction with another hash. ERR_NOT_ELIGIBLE: the source is not an account
 * of this pool. ERR_LEASE_NOT_FOUND: none of these.
 */
MUST_CHECK enum err fee_bump_find_lease(struct db *db, const struct hash *hash,
    const struct envelope *transaction, const char *client, struct fee_bump_lease *out,
    struct detail *detail);

/*
 * Records a signed fee bump, before it is returned to the client: after ERR_OK the row is committed.
 * Recording the same one again changes nothing. ERR_LEASE_EXPIRED, ERR_LEASE_SETTLED: the lease has ended
 * meanwhile. ERR_NOT_REPLICATED and ERR_OUTCOME_UNKNOWN as db_commit.
 */
MUST_CHECK enum err fee_bump_record(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    int64_t fee_stroops, struct detail *detail);

#endif
