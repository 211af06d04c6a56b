/* The pool in counts: accounts, the cursor, whether leases are granted. */
#pragma once

#include "db/db.h"
#include "pool/funds.h"
#include "pool/grants_allowed.h"

struct pool_counts {
    /* Accounts by state. */
    int64_t idle, leased, active; /* active: idle or leased */
    int64_t creating, retiring, quarantined;
    int64_t retiring_leased; /* of those that are retiring */
    int64_t oldest_lease_s;
    int64_t submissions_pending,
        submissions_rejected; /* what fairway sends, and what it has stopped sending */
    /* The last committed ledger. */
    uint32_t cursor_sequence; /* 0: none yet */
    int64_t cursor_close_time_s;
    int64_t cursor_lag_s; /* database clock - close time: may be negative */
    uint64_t now_s;       /* the later one of the database's clock and the close time, Unix seconds */

    struct grants_state grants; /* for grants_check */
    bool grants_on_hold;        /* the database may have forgotten leases */

    int64_t partition_days; /* days after today for which leases have a partition; below 0: none for today */

    int64_t creations_pending, merges_pending; /* accounts (pool/provisioning.h) */
    bool synchronous_standby;                  /* COMMIT waits for one (db/server.h) */
    bool standby_connected;                    /* any */
    struct funds funds;
};

/* Accounts, cursor and provisioning are of one snapshot. Reads all accounts: 0.1 s and more for 100,000. Not
 * counted: active is 1 if any account is, and the other counts are 0. */
MUST_CHECK enum err pool_counts_read(
    struct db *db, bool counted, struct pool_counts *out, struct detail *detail);
