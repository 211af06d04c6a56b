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
    size_t confirmed, failed, superseded, expired, consumed;
    size_t released; /* accounts that became idle */
    size_t created, retired, quarantined;
};

/*
 * In this order: settles each open lease whose hash is in the ledger and whose result consumed the sequence;
 * mirrors each pool account that the ledger changed, if the ledger is above its sequence_ledger (an open
 * lease passed that way is superseded); settles as expired each open lease that no later ledger can include;
 * quarantines accounts that did what we did not cause, and those that the network froze. held: the database
 * may have forgotten leases and retirements; what they did is mirrored and nobody's fault. Notifies
 * (ACCOUNTS_CHANNEL) at commit when any lease ended or any account became active.
 */
MUST_CHECK enum err pool_settle(
    struct db *db, const struct ledger *ledger, bool held, struct settled *out, struct detail *detail);

/* An account as the network had it when a gap in the ledgers was looked over. */
struct account_snapshot {
    struct ledger_account account; /* removed: the network has no such account */
    uint32_t ledger;               /* as of which */
};

/* What is known of a leased transaction that one of the lost ledgers has. */
struct lease_fate {
    struct hash hash; /* the lease's */
    int32_t code;     /* TransactionResultCode, innermost */
    uint32_t ledger;
};

struct gap_reads {
    struct account_snapshot *accounts;
    size_t account_count;
    struct lease_fate *fates;
    size_t fate_count;
    struct frozen_accounts frozen;
};

/*
 * The same for a ledger whose predecessors are lost. Every account that is not retired must be among the
 * reads, each as of this ledger or a later one: an open lease whose sequence number is gone settles as its
 * fate says, or else as consumed; one that is not, as expired if no ledger after this one can include it.
 * An account that is not there is quarantined, retired if it was retiring; one that is to be created waits.
 * ERR_NOT_YET: an account was added meanwhile, its read is missing.
 */
MUST_CHECK enum err pool_settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads,
    bool held, struct settled *out, struct detail *detail);

#endif
