/* Fee bumps of open leases: what signing them needs, and the rows that record them. */
#pragma once

#include "db/db.h"
#include "keys/keyd.h"
#include "limits/limits.h"
#include "stellar/ledger.h"

/* One fee bump of a batch. */
struct fee_bump_item {
    /* The transaction to bump, and who asks: */
    struct hash lease;        /* its hash */
    struct public_key source; /* its source account */
    int64_t sequence;
    const char *client;
    struct limits limits; /* of the client; of a raise set by fee_bumps_find */
    enum lane lane;
    /* Set by fee_bumps_find: */
    enum err error; /* also by fee_bumps_record */
    struct detail detail;
    enum limit limit;               /* that has refused it */
    struct sealed_seed sealed;      /* of the source account */
    int64_t spendable_stroops;      /* of the distribution account (pool/funds.h) */
    int64_t bumps, highest_stroops; /* the lease's fee bumps so far, without raises, and the highest of all */
    int64_t spent_stroops;          /* of the client's limit for this day */
    int64_t price_stroops;          /* an operation, of the last ledger in the lane; 0: it had room */
    int64_t bid_stroops;            /* of the lease's submission; 0: there is none */
    bool rejected;
    /* For fee_bumps_record: */
    struct hash hash; /* of the fee bump */
    int64_t fee_stroops;
    /* Before both: whether fairway sends the fee bump (fairway.submissions). Then also, for the second: */
    bool submits;
    int64_t max_fee_stroops;     /* the cap; fee_bumps_find sets the one that the submission has, 0: none */
    const struct hash *replaced; /* the bid that this one follows; NULL: a client submits */
    struct bytes outer;          /* the fee bump's envelope */
    /* Set by it: */
    bool first;          /* the lease had no submission before */
    int64_t sent_ledger; /* send the fee bump now: the cursor; 0: it is not to be sent */
};

#define FEE_BUMPS_MAX 64 /* items of one call */

/*
 * Finds the open leases. An item has the error ERR_OK when its client has an open lease of this transaction,
 * else a detail that says what to do: ERR_LEASE_EXPIRED, ERR_LEASE_SETTLED: the lease has ended.
 * ERR_TRANSACTION_CHANGED: the source account is leased to this client, for a transaction with another hash.
 * ERR_NOT_ELIGIBLE: the source is not an account of this pool. ERR_LEASE_NOT_FOUND: none of these. An error
 * that is returned is of all items: as db_query.
 */
MUST_CHECK enum err fee_bumps_find(
    struct db *db, struct fee_bump_item *const items[], size_t count, struct detail *detail);

/*
 * Records signed fee bumps, before they are returned to clients, in one transaction: when ERR_OK is returned,
 * the rows of all items without an error are committed. Recording the same one again changes nothing. An item
 * whose lease has ended since fee_bumps_find gets the error ERR_LEASE_EXPIRED or ERR_LEASE_SETTLED, one that
 * is above a limit of its client gets limit and that limit's error, whatever other sessions record meanwhile.
 * Errors that are returned: as db_execute.
 */
MUST_CHECK enum err fee_bumps_record(
    struct db *db, struct fee_bump_item *const items[], size_t count, struct detail *detail);
