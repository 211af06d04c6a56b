/*
 * The order in which fairway's transactions lock, so that none can wait for another in a circle:
 *
 *   1. advisory locks of the session (ingestion leader, provisioning, master keys): always tried, never
 * waited for inside a transaction;
 *   2. advisory locks of the transaction (ledger transaction; grants, shared; idempotency keys): tried as
 * well;
 *   3. the cursor's row: ledgers and a new leader FOR UPDATE, changes by hand FOR SHARE, grants not at all;
 *   4. leases: a ledger ends them by hash, a grant inserts its own, housekeeping deletes settled ones and
 * removes old idempotency keys, and never waits for a lock longer than 200 ms, which is below
 * deadlock_timeout;
 *   5. rows of accounts, in the order of their keys in "C"; a grant, and scaling down, skip those that are
 *      locked instead of waiting, and an account whose lease a ledger has ended under 4 is nobody else's;
 *   6. what the ledger adds: its row, the fate of a provisioning transaction.
 *
 * What cannot be ordered is bounded: every session has lock_timeout, statement_timeout and
 * idle_in_transaction_session_timeout, and a transaction that was chosen as a deadlock's victim runs again
 * (ERR_SERIALIZATION).
 */

/*
 * Who blocks whom in this database, who holds fairway's advisory locks, and what keeps vacuum from cleaning
 * up (H15: an old snapshot makes a small table grow and each statement on it slow). Reads the server's own
 * views; locks nothing.
 */
#ifndef FAIRWAY_DB_LOCKS_H
#define FAIRWAY_DB_LOCKS_H

#include "db/db.h"

#define LOCKS_MAX 100
/* No session of fairway's waits longer for a lock (the default lock_timeout of db_settings). */
#define LOCKS_LONG_MS 2000

struct lock_session {
    int32_t pid; /* 0: a prepared transaction */
    char name[64], user[64], client[64];
    char state[40];  /* "active", "idle in transaction", ...; "hidden" without the privilege to see it */
    char wait[64];   /* "Lock:transactionid"; '' when it waits for nothing */
    char query[100]; /* its current or last one, cut */
    int64_t transaction_ms; /* how long its transaction has been open; -1: none, or hidden */
};

/* A session that waits for a lock, once for each that is in its way. */
struct lock_wait {
    struct lock_session waiter, blocker;
    int64_t waited_ms;
    char lock[128]; /* "row of fairway.cursor (ShareLock)" */
};

struct lock_holder {
    char lock[32]; /* what of fairway's it is */
    char mode[32];
    struct lock_session session;
};

/* Something that vacuum cannot clean up behind. */
struct lock_pin {
    char what[32]; /* "session", "prepared transaction", "replication slot" */
    char name[64]; /* of the latter two */
    struct lock_session session;
    int64_t age_ms;           /* -1: not known */
    int64_t age_transactions; /* how many transactions began since */
};

struct locks_report {
    struct lock_wait waits[LOCKS_MAX];
    size_t wait_count;
    struct lock_holder holders[LOCKS_MAX];
    size_t holder_count;
    struct lock_pin pins[LOCKS_MAX]; /* the oldest first */
    size_t pin_count;
    int64_t hidden; /* sessions of others of which only the process id is to be seen */
};

/* How the report calls an advisory lock. */
struct lock_name {
    const char *name;
    const char *text; /* its number is hashtext() of this; NULL: */
    int64_t number;
};

/* At most LOCKS_MAX of each; of advisory locks, only those that names has. Works with no privilege beyond
 * CONNECT; what it may not see, hidden counts. */
MUST_CHECK enum err locks_read(struct db *db, const struct lock_name names[], size_t name_count,
    struct locks_report *out, struct detail *detail);

#endif
