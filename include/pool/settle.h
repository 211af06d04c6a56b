/*
 * The part of the ledger transaction that ends leases and updates accounts. The caller has begun the
 * transaction, has locked the cursor row and has checked the ledger; it inserts the ledger row and moves the
 * cursor in the same transaction.
 */
#pragma once

#include "db/db.h"
#include "pool/lease_ends.h"
#include "pool/settle_evidence.h"
#include "pool/provisioning.h"

/* The open leases that may expire soon, by a search that reads the whole pool. It runs after the COMMIT of a
 * ledger, every SETTLE_SEARCH_SECONDS or a ledger later, so that no ledger waits for it. It does not know of
 * leases that are granted after it. They live for LEASE_SECONDS_MIN, which is how far it reaches; one that
 * has a bound of ledgers can end that much later than it could. In memory only. */
struct settle_search {
    struct db_rows *leases; /* NULL: not searched yet */
    uint64_t until_s;       /* a ledger that closes later searches the pool itself */
    int64_t searched_ms;    /* clock_ms(): until_s is wrong when the database's clock was */
    uint64_t ended_s;       /* what this ledger let expire has ended; ended_ledger 0: none since the search */
    uint32_t ended_ledger;
};
void settle_search_free(struct settle_search *search);
/* Call it after the COMMIT of each ledger. Searches when it is time; if that fails, the next ledger does. */
void settle_search_ahead(struct db *db, const struct ledger *ledger, struct settle_search *search);

/* Accounts that were quarantined. The caller logs it after COMMIT, because a transaction that is rolled back
 * changes nothing and runs again. */
struct settle_note {
    char address[ADDRESS_SIZE];
    const char *reason; /* a constant */
};
struct settle_notes {
    struct settle_note *items;
    size_t count;
};
void settle_notes_free(struct settle_notes *notes);

/* What was written. */
struct settled {
    size_t confirmed, failed, superseded, expired, consumed; /* leases that ended */
    size_t released;                                         /* their sum: accounts that were released */
    size_t created, retired, quarantined;                    /* accounts that changed to this state */
    size_t forgotten; /* transactions of leases that the database does not have */
};

/* What else is known when a ledger is settled. */
struct settle_terms {
    bool on_hold; /* the database may have forgotten leases, creations and retirements */
    const struct provisioning_list *provisioning;
    const struct public_key *distribution; /* the account that pays for leases; NULL: not known */
    struct settle_search *search;          /* of earlier ledgers; NULL: none */
    struct settle_notes *notes;            /* {0}, to be filled; NULL: not wanted */
    struct lease_ends *ends; /* the same: the leases that ended, sorted. They are true after COMMIT */
};

/*
 * A transaction of an account of the pool that the distribution account has bumped is a lease's: nobody else
 * can sign that fee bump. If the database has no such lease, open or ended, it was set back: the ledger is
 * settled as on hold, the lease is recorded with its end as nobody's, and the caller puts grants on hold.
 *
 * In this order:
 *   1. each open lease whose hash is in the ledger, with a result that consumed the sequence number, ends as
 *      confirmed or failed;
 *   2. each open lease whose sequence number another transaction of the ledger consumed ends as superseded;
 *   3. each open lease that no later ledger can include ends as expired, when the pool is searched for them;
 *   4. each account of the pool whose sequence number a transaction consumed takes it over, and is
 *      quarantined if fairway did not sign that transaction;
 *   5. accounts that operations created or merged change their state, and those that are the source of
 * another operation are quarantined, if fairway did not make it. All of this follows from what the hash of
 * the ledger covers, and from nothing else.
 *
 * Notifies ACCOUNTS_CHANNEL at COMMIT if any lease ended or any account changed.
 */
MUST_CHECK enum err settle_ledger(struct db *db, const struct ledger *ledger,
    const struct settle_terms *terms, struct settled *out, struct detail *detail);

/*
 * The same for a ledger whose predecessors are lost. The reads must have every account that is not retired,
 * each as of this ledger or a later one. An open lease whose sequence number is consumed ends with the result
 * of its fate, or as consumed when the reads have no fate of it. Any other open lease ends as expired if no
 * later ledger can include it. A missing account is quarantined, or retired if it was retiring; one that is
 * to be created is left unchanged. ERR_NOT_YET: an account was added after the reads.
 */
MUST_CHECK enum err settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads,
    bool on_hold, struct settle_notes *notes, struct settled *out, struct detail *detail);
