/* The end of settling: writes all accounts and leases that change. */
#ifndef FAIRWAY_POOL_SETTLE_WRITE_H
#define FAIRWAY_POOL_SETTLE_WRITE_H

#include "settle_read.h"

/* Writes the rows that changed, inserts the results of the leases that end and clears them from their
 * accounts, and notifies ACCOUNTS_CHANNEL if it wrote anything. */
MUST_CHECK enum err settle_write(
    struct db *db, const struct settle_accounts *accounts, struct detail *detail);

#endif
