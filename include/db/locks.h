/*
 * Which sessions of this database wait for which others, who holds fairway's advisory locks, and what keeps
 * vacuum from removing dead rows. (An old snapshot makes a small table grow and slows every statement on it.)
 * Reads system views and takes no lock. src/README.md has the order in which fairway's transactions lock.
 */
#ifndef FAIRWAY_DB_LOCKS_H
#define FAIRWAY_DB_LOCKS_H

#include "db/db.h"

#define LOCKS_MAX 100

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
    char what[32]; /* "session", "standby", "prepared transaction", "replication slot" */
    char name[64]; /* of the last two */
    struct lock_session session;
    int64_t age_ms;           /* of its transaction; -1: unknown, or hidden */
    int64_t age_transactions; /* transactions begun since */
};

/*
 * A subquery of SQL: what keeps vacuum from removing dead rows of this database, without this session.
 * Columns: what, name and pid as in struct lock_pin; begun, when its transaction began (NULL: unknown or
 * hidden); age, in transactions; is_writer: it has a transaction id of that age, which other snapshots also
 * have to consider. backend_xmin and backend_xid are shown to every role; VACUUM's own snapshot keeps
 * nothing. A standby without a replication slot is shown by its sender, which belongs to no database.
 */
#define LOCKS_PINS_SQL                                                                                       \
    "(SELECT CASE WHEN a.datid IS NULL THEN 'standby' ELSE 'session' END AS what, '' AS name, a.pid,"        \
    "   a.xact_start AS begun, greatest(age(a.backend_xmin), age(a.backend_xid))::int8 AS age,"              \
    "   coalesce(age(a.backend_xid) >= age(a.backend_xmin), a.backend_xid IS NOT NULL) AS is_writer"         \
    "   FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid()"                                             \
    "   AND coalesce(a.datname = current_database(), true)"                                                  \
    "   AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)"                                      \
    "   AND coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL"                                             \
    "   UNION ALL SELECT 'prepared transaction', x.gid, NULL, x.prepared, age(x.transaction)::int8, true"    \
    "   FROM pg_prepared_xacts x WHERE x.database = current_database()"                                      \
    "   UNION ALL SELECT 'replication slot', r.slot_name::text, NULL, NULL, age(r.xmin)::int8, false"        \
    "   FROM pg_replication_slots r WHERE r.xmin IS NOT NULL)"

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
