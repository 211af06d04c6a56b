/* Looks up what became of transactions, by the hashes of leases or of fee bumps. */
#pragma once

#include "db/db.h"
#include "pool/lease_ends.h"

/* A fee bump of a lease. */
struct lease_bid {
    struct hash hash;
    int64_t fee_stroops;
};

/* lease_status_free frees what it owns; {0} is fine. */
struct lease_status {
    struct hash hash; /* of the lease: the inner transaction */
    char account[ADDRESS_SIZE];
    int64_t sequence;
    int64_t max_time_s;
    char status[16];        /* pending, confirmed, failed, expired, superseded, consumed */
    char result_code[40];   /* "txFEE_BUMP_INNER_SUCCESS"; '' if no ledger has the transaction */
    int64_t ledger;         /* the ledger that settled the lease; 0: pending */
    int64_t closed_at_s;    /* close time of that ledger; 0: unknown */
    int64_t ended;          /* its place in the order of ends: a cursor; 0: pending, or not looked up */
    int64_t granted_us;     /* when the lease was granted, in microseconds */
    struct buf envelope;    /* while pending: its TransactionEnvelope as it was granted; empty: not wanted */
    struct buf rejected;    /* why fairway has stopped sending it: a TransactionResult; empty: it has not */
    char *reference;        /* the client's; NULL: none */
    struct lease_bid *bids; /* while pending: the highest 10 fee bumps, the highest first */
    size_t bid_count;
    /* Of the ledger that has the transaction, and only as far as they are known: */
    bool has_ledger_hash;
    struct hash ledger_hash;         /* that of the fee bump, if there is one */
    struct buf result, return_value; /* TransactionResult; stellar/return_value. Empty: not known, or none */
};
void lease_status_free(struct lease_status *status);

struct lease_lookup {
    struct hash hash;   /* of a lease or of a fee bump */
    const char *client; /* only leases of this client are found, and nobody's: fairway.record_forgotten */
    bool wants_envelope;
    bool found;
    struct lease_status
        status; /* if found. Before: hash and granted_us, if an earlier look-up has found them */
};

/*
 * One statement for all of them. Those that an earlier look-up has found are read directly. Of the others the
 * cost grows with the square of the number of different hashes: keep that to some hundred. Sets found and
 * status of each; the caller frees the status of those that were found.
 */
MUST_CHECK enum err lease_lookup(
    struct db *db, struct lease_lookup lookups[], size_t count, struct detail *detail);

/* Writes into the status of a pending lease how a ledger ended it: what a lookup would return. */
void lease_status_end(
    struct lease_status *status, const struct lease_ends *ends, const struct lease_end *end);

/* The order in which leases ended, as one number: by the ledger whose commit ended them, and within it by the
 * slots of their accounts. A cursor is such a number; LEASE_ENDS(ledger) is after all ends of a ledger. */
#define LEASE_ENDS(ledger) ((ledger) * ((int64_t)INT32_MAX + 1) + INT32_MAX)

/* The leases of a client that ended after a cursor, in this order. */
struct lease_list {
    struct lease_status *items;
    size_t count;
    int64_t next; /* the cursor after them: of the last one if there are `limit`, else of the last ledger */
};
void lease_list_free(struct lease_list *list);

/*
 * Reads at most limit of them. Nothing is skipped: ledgers are committed one after the other, with the leases
 * that they end. after 0: from the first ledger since which nothing was dropped. ERR_CURSOR_TOO_OLD: leases
 * that ended after this cursor, of any client, were dropped. ERR_INVALID_REQUEST: its ledger is far after the
 * last one that is committed; of one shortly after it nothing has ended. The caller frees *out.
 */
MUST_CHECK enum err lease_list_read(struct db *db, const char *client, int64_t after, size_t limit,
    struct lease_list *out, struct detail *detail);
