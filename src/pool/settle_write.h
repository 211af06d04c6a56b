/* The end of a settlement: the rows of the accounts, each written once. */
#ifndef FAIRWAY_POOL_SETTLE_WRITE_H
#define FAIRWAY_POOL_SETTLE_WRITE_H

#include "settle_evidence.h"
#include "pool/account_state.h"

/* An account of ours about which there is evidence. */
struct touched {
    const struct account_evidence *evidence;
    struct account_row row;
    bool mirrored; /* the row took over what was seen */
    bool changed;
};

/* Whose leases ended, sorted; the texts are borrowed. */
struct ended {
    const char **accounts;
    size_t count;
};

/* Writes the touched rows that changed, releases the accounts whose leases ended, and notifies if there was
 * anything to write. Reorders ended. */
MUST_CHECK enum err settle_write(
    struct db *db, const struct touched touched[], size_t count, struct ended *ended, struct detail *detail);

#endif
