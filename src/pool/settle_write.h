/* The end of settling: writes each account's row at most once. */
#ifndef FAIRWAY_POOL_SETTLE_WRITE_H
#define FAIRWAY_POOL_SETTLE_WRITE_H

#include "db/db.h"
#include "pool/account_state.h"
#include "pool/settle_evidence.h"

/* An account of the pool about which there is evidence; its row is locked. */
struct settle_account {
    const struct account_evidence *evidence;
    struct account_row row;
    bool submitted; /* the pending submission names it */
    bool followed;  /* the row took over what the network has */
    bool changed;
};

/* The accounts of the leases that ended, sorted; the texts are borrowed. */
struct settle_ended {
    const char **accounts;
    size_t count;
};

/* Writes the accounts that changed, clears the lease of those whose lease ended, and notifies
 * ACCOUNTS_CHANNEL if it wrote anything. Reorders ended. */
MUST_CHECK enum err settle_write(struct db *db, const struct settle_account accounts[], size_t count,
    struct settle_ended *ended, struct detail *detail);

#endif
