/* Reading the pool: counts, accounts a page at a time, and what a fee bump needs. Plain reads but for
 * fee_bump_record. */
#ifndef FAIRWAY_POOL_STATUS_H
#define FAIRWAY_POOL_STATUS_H

#include "db/db.h"
#include "keys/keyd.h"
#include "pool/funds.h"
#include "stellar/ids.h"

#define RESULT_SIZE 40 /* "superseded", "txFEE_BUMP_INNER_SUCCESS" */

/* One transaction's fate; watch.h finds it. */
struct lease_status {
    struct hash hash; /* of the lease (the inner transaction) */
    char account[ADDRESS_SIZE];
    int64_t sequence;
    int64_t max_time_s;
    char status[RESULT_SIZE];      /* pending, confirmed, failed, expired, superseded, consumed */
    char result_code[RESULT_SIZE]; /* '' when the transaction was in no ledger */
    int64_t ledger;                /* 0 while pending */
    int64_t closed_at_s;           /* close time of that ledger; 0 when unknown */
};

/* What a fee bump needs of an open lease of this client. ERR_NOT_ELIGIBLE when there is none. */
struct lease_key {
    struct public_key account;
    struct sealed_seed sealed;
    int64_t spendable_stroops; /* of the distribution account (pool/funds.h) */
};
MUST_CHECK enum err lease_key(
    struct db *db, const struct hash *hash, const char *client, struct lease_key *out, struct detail *detail);
/* Records a signed fee bump, before it is answered: on ERR_OK it is committed. The same one again is fine.
 * ERR_NOT_ELIGIBLE when the lease was settled meanwhile; ERR_NOT_REPLICATED and ERR_OUTCOME_UNKNOWN as
 * db_commit. */
MUST_CHECK enum err fee_bump_record(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    int64_t fee_stroops, struct detail *detail);

struct pool_status {
    int64_t idle, leased, creating, retiring, quarantined; /* accounts; idle + leased is active */
    int64_t oldest_lease_s;
    int64_t cursor_sequence, cursor_close_time_s; /* 0 before the first ledger */
    int64_t cursor_lag_s;                         /* database clock - close time: may be negative */
    bool grants_allowed;                          /* by the cursor row */
    bool grants_held;                             /* the database may have forgotten leases */
    bool synchronous_standby;                     /* a commit waits for one (db/server.h) */
    struct funds funds;
};
MUST_CHECK enum err pool_status(struct db *db, struct pool_status *out, struct detail *detail);

struct account_status {
    char public_key[ADDRESS_SIZE];
    char state[RESULT_SIZE];           /* idle, leased, creating, retiring, retired, quarantined */
    char reason[120];                  /* '' but for quarantined */
    int64_t sequence, sequence_ledger; /* -1: not known yet */
    bool leased;
    struct hash lease_hash;
    int64_t lease_max_time_s;
};
#define ACCOUNT_PAGE_MAX 1000
/* At most limit accounts with public_key > after ('' from the start), ordered by it; state NULL: all but
 * retired. */
MUST_CHECK enum err account_page(struct db *db, const char *state, const char *after, size_t limit,
    struct account_status out[], size_t *count, struct detail *detail);

#endif
