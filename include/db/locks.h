/*
 * Which sessions of this database wait for which others, who holds fairway's advisory locks, and what keeps
 * vacuum from removing dead rows. (An old snapshot makes a small table grow and slows every statement on it.)
 * Reads system views and takes no lock. src/README.md has the order in which fairway's transactions lock.
 */
#ifndef FAIRWAY_DB_LOCKS_H
#define FAIRWAY_DB_LOCKS_H

#include "db/db.h"

#define LOCKS_MAX 100
/* The longest that a session of fairway waits for a lock: the default lock_timeout of db_settings. */
#define LOCKS_LONG_MS 2000

struct lock_session {
    int32_t pid; /* 0: a prepared transaction */
    char name[64], user[64], client[64];
    char state[40];  /* "active", "idle in transaction", ...; "hidden" without the privilege to see it */
    char wait[64];   /* "Lock:transactionid"; "" when it does not wait */
    char query[100]; /* the current or last one, cut to fit */
    int64_t transaction_ms; /* how long its transaction has been open; -1: none, or hidden */
};

/* A session that waits for a lock; one entry for each session that blocks it. */
struct lock_wait {
    struct lock_session waiter, blocker;
    int64_t waited_ms;
    char lock[128]; /* "row of fairway.cursor (ShareLock)" */
};

struct lock_holder {
    char lock[32]; /* name of a struct lock_name */
    char mode[32];
    struct lock_session session;
};

/* What keeps vacuum from removing dead rows. */
struct lock_pin {
    char what[32]; /* "session", "prepared transaction", "replication slot" */
    char name[64]; /* of the last two */
    struct lock_session session;
    int64_t age_ms;           /* -1: unknown */
    int64_t age_transactions; /* transactions begun since */
};

struct locks_report {
    struct lock_wait waits[LOCKS_MAX];
    size_t wait_count;
    struct lock_holder holders[LOCKS_MAX];
    size_t holder_count;
    struct lock_pin pins[LOCKS_MAX]; /* the oldest first */
    size_t pin_count;
    int64_t hidden; /* how many sessions of other roles show only their process id */
};

/* An advisory lock, and its name in the report. */
struct lock_name {
    const char *name;
    const char *text; /* the key of the lock is hashtext() of this; NULL: the key is number */
    int64_t number;
};

/* Reads at most LOCKS_MAX entries of each kind; of advisory locks, those in names. Needs only the privilege
 * CONNECT; hidden counts the sessions that it may not see. */
MUST_CHECK enum err locks_read(struct db *db, const struct lock_name names[], size_t name_count,
    struct locks_report *out, struct detail *detail);

#endif
