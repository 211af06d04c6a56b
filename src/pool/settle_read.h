/* The start and the end of settling: reads the accounts that a ledger may change, and writes those that did.
 */
#ifndef FAIRWAY_POOL_SETTLE_READ_H
#define FAIRWAY_POOL_SETTLE_READ_H

#include "db/db.h"
#include "pool/account_state.h"
#include "pool/settle.h"

struct settle_lease {
    struct hash hash;
    int64_t sequence;
    int64_t max_time_s;
    int64_t max_ledger; /* exclusive; 0: none */
};

/* How a lease ends. */
struct settle_end {
    const char *result; /* NULL: it stays open */
    const char *code;   /* NULL: no ledger has the transaction, or none that is known */
    int64_t ledger;
};

/* A locked account, and what settling changes of it. */
struct settle_account {
    char address[ADDRESS_SIZE];
    const struct account_evidence *evidence; /* NULL: only its lease can have expired */
    struct account_row row;
    bool leased; /* lease is set */
    struct settle_lease lease;
    struct settle_end end;
    bool submitted; /* the pending submission names it */
    bool followed;  /* the row took over what the network has */
    bool changed;   /* the row */
};

struct settle_accounts {
    struct settle_account *items; /* in the order of their addresses */
    size_t count;
};
void settle_accounts_free(struct settle_accounts *accounts);

/* Reads the keys of the unread accounts, sorted. The caller frees *out with settle_doubts_free. */
MUST_CHECK enum err settle_read_unread(struct db *db, struct settle_doubts *out, struct detail *detail);

/* Locks all accounts of the pool about which there is evidence or whose lease may expire with this ledger,
 * except retired ones, in the order of their addresses, so that none is leased before the COMMIT. Looks for
 * leases that may expire only when *search says so, and writes there when to look again. The caller frees
 * *out, also after an error. */
MUST_CHECK enum err settle_read(struct db *db, const struct settle_evidence *evidence,
    struct settle_search *search, struct settle_accounts *out, struct detail *detail);

/* Writes the rows that changed, inserts the results of the leases that end and clears them from their
 * accounts, and notifies ACCOUNTS_CHANNEL if it wrote anything. */
MUST_CHECK enum err settle_write(
    struct db *db, const struct settle_accounts *accounts, struct detail *detail);

#endif
