/*
 * What a committed ledger does to the pool (DESIGN section 5): the part of the ledger transaction that ends
 * leases and mirrors sequence numbers. The caller has begun the transaction, holds the cursor row and has
 * checked the ledger; it inserts the ledger row and moves the cursor in the same transaction.
 */
#ifndef FAIRWAY_POOL_SETTLE_H
#define FAIRWAY_POOL_SETTLE_H

#include "db/db.h"
#include "stellar/ledger.h"

struct settled {
    size_t confirmed, failed, superseded, expired;
    size_t released; /* accounts that became idle */
    size_t created, retired, quarantined;
};

/*
 * In this order: settles each open lease whose hash is in the ledger and whose result consumed the sequence;
 * mirrors each pool account that the ledger changed, if the ledger is above its sequence_ledger (an open
 * lease passed that way is superseded); settles as expired each open lease that no later ledger can include;
 * quarantines accounts that did what we did not cause. Notifies (POOL_CHANNEL) at commit when any lease ended
 * or any account became active.
 */
MUST_CHECK enum err pool_settle(
    struct db *db, const struct ledger *ledger, struct settled *out, struct detail *detail);

/* NOTIFY channel, without payload: leases ended or accounts became idle. */
#define POOL_CHANNEL "fairway_pool"

/* Deletes at most limit settled leases older than keep_seconds; *deleted says how many. */
MUST_CHECK enum err pool_forget(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *deleted, struct detail *detail);

#endif
