/*
 * The advisory locks of fairway: their numbers, and their names in the output of `fairway locks`. No release
 * may change a number, because replicas of two versions run side by side during an upgrade. The order in
 * which locks are taken is in src/README.md. Locks on idempotency keys have no name: idempotency_lock()
 * returns their numbers.
 */
#pragma once

#include "db/locks.h"
#include "stellar/ids.h"

/* Locks that are the same for every network: their number is hashtext() of this text. MIGRATE_LOCK_TEXT
 * (db/migrate.h) is another one. */
#define LOCK_TEXT_GRANTS "fairway grants"
#define LOCK_TEXT_MASTER_KEYS "fairway master keys"
#define LOCK_TEXT_HOUSEKEEPING "fairway housekeeping"

/* Locks of one network, from its id: two networks never exclude each other. */
struct lock_numbers {
    int64_t leader;       /* of the session that leads ingestion */
    int64_t ledger;       /* of each ledger transaction */
    int64_t provisioning; /* of the session of ensure-accounts */
};
struct lock_numbers lock_numbers_of(const struct network_id *network);

/* Fills in the names for locks_read and returns their number. network NULL: without the locks of a network.
 */
#define LOCK_NAMES_MAX 7
size_t lock_numbers_names(const struct network_id *network, struct lock_name out[static LOCK_NAMES_MAX]);
