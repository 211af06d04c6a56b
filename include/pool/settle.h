/*
 * The part of the ledger transaction that ends leases and updates accounts. The caller has begun the
 * transaction, has locked the cursor row and has checked the ledger; it inserts the ledger row and moves the
 * cursor in the same transaction.
 */
#ifndef FAIRWAY_POOL_SETTLE_H
#define FAIRWAY_POOL_SETTLE_H

#include "db/db.h"
#include "pool/settle_evidence.h"

/* When the pool is searched again for leases that have expired. A search reads the whole pool and knows when
 * the next lease expires, but not of leases granted after it. So it is repeated after SETTLE_SEARCH_SECONDS.
 * Only a lease that lives for less than that can end late. */
struct settle_search {
    bool done;            /* else: with the next ledger */
    int64_t until_s;      /* not before a ledger of a later close time */
    int64_t until_ledger; /* nor before a ledger after this one */
};

/* What to log about accounts. The caller logs it after COMMIT, because a transaction that is rolled back
 * changes nothing and runs again. */
enum settle_event {
    SETTLE_QUARANTINED, /* for the reason */
    SETTLE_READ_AGAIN,  /* a read ended its quarantine as unread */
    SETTLE_REFUTED,     /* a read contradicts what the metadata claims about it */
};
struct settle_note {
    enum settle_event event;
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
    size_t unread;               /* accounts that are unread: with rereads and after a gap, all of the pool */
    struct settle_search search; /* after it */
};

/* What else is known when a ledger is settled. */
struct settle_terms {
    bool on_hold;                     /* the database may have forgotten leases and retirements */
    bool submitted;                   /* the pending submission is in this ledger and succeeded */
    const struct settle_reads *reads; /* that confirm the metadata; NULL: none yet */
    bool rereads; /* unread accounts are searched for and read again; the search reads the whole pool */
    struct settle_search search;
    struct settle_notes *notes; /* {0}, to be filled; NULL: not wanted */
};

/*
 * In this order:
 *   1. each open lease whose hash is in the ledger, with a result that consumed the sequence number, ends as
 *      confirmed or failed;
 *   2. each open lease whose sequence number another transaction of the ledger consumed ends as superseded;
 *   3. each open lease that no later ledger can include ends as expired, when the pool is searched for them;
 *   4. each account of the pool whose sequence number a transaction consumed takes it over, and is
 *      quarantined if fairway did not sign that transaction;
 *   5. what the metadata claims about accounts beyond that has to be in the reads; then accounts that were
 *      created or removed change their state, and those that changed in another way are quarantined. If the
 *      reads were given up, active accounts with such claims are quarantined as unread. A read of an unread
 *      account ends that, or shows what changed.
 * Leases follow from what the hash of the ledger covers, and from nothing else.
 *
 * ERR_NOT_YET with *doubts: what has to be read. The caller rolls back, reads it and begins again.
 * *doubts is empty in all other cases. The caller frees it with settle_doubts_free.
 * Notifies ACCOUNTS_CHANNEL at COMMIT if any lease ended or any account changed.
 */
MUST_CHECK enum err settle_ledger(struct db *db, const struct ledger *ledger,
    const struct settle_terms *terms, struct settled *out, struct settle_doubts *doubts,
    struct detail *detail);

/*
 * The same for a ledger whose predecessors are lost. The reads must have every account that is not retired,
 * each as of this ledger or a later one. An open lease whose sequence number is consumed ends with the result
 * of its fate, or as consumed when the reads have no fate of it. Any other open lease ends as expired if no
 * later ledger can include it. A missing account is quarantined, or retired if it was retiring; one that is
 * to be created is left unchanged. ERR_NOT_YET: an account was added after the reads.
 */
MUST_CHECK enum err settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads,
    bool on_hold, struct settle_notes *notes, struct settled *out, struct detail *detail);

#endif
