/*
 * Which sessions of this database wait for which others, who holds fairway's advisory locks, and what keeps
 * vacuum from removing dead rows. (An old snapshot makes a small table grow and slows every statement on it.)
 * Reads system views and takes no lock. src/README.md has the order in which fairway's transactions lock.
 */
#pragma once

#include "db/db.h"

#define LOCKS_MAX 100

/* The columns of a session: text, but for the first and the last one. */
enum {
    LOCKS_PID, /* int4; 0: a prepared transaction */
    LOCKS_NAME,
    LOCKS_USER,
    LOCKS_CLIENT,
    LOCKS_STATE,          /* "active", "idle in transaction", ...; "hidden" without the privilege to see it */
    LOCKS_WAIT,           /* "Lock:transactionid"; "" when it does not wait */
    LOCKS_QUERY,          /* the current or last one, cut to fit */
    LOCKS_TRANSACTION_MS, /* int8: how long its transaction has been open; -1: none, or hidden */
    LOCKS_SESSION         /* how many columns */
};

/*
 * A subquery of SQL: what keeps vacuum from removing dead rows of this database, without this session.
 * Columns: what ("session", "standby", "prepared transaction", "replication slot"); name, of the last two;
 * pid; begun, when its transaction began (NULL: unknown or hidden); age, in transactions; is_writer: it has a
 * transaction id of that age, which other snapshots also have to consider. backend_xmin and backend_xid are
 * shown to every role; VACUUM's own snapshot keeps nothing. A standby without a replication slot is shown by
 * its sender, which belongs to no database.
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
    /* Sessions that wait for a lock, a row for each that blocks one: the columns of both; int8, ms of
     * waiting; the lock, "row of fairway.cursor (ShareLock)". */
    struct db_rows *waits;
    /* Name and mode of each advisory lock, and of each lock of a table of fairway ("table fairway.cursor")
     * that a transaction has had for longer than a session waits; the session that holds it. */
    struct db_rows *holders;
    /* What keeps vacuum from removing dead rows, the oldest first: what it is, and its name, as in
     * LOCKS_PINS_SQL; int8, ms of its transaction, -1: unknown, or hidden; int8, transactions begun since;
     * the session. */
    struct db_rows *pins;
    /* int8: how many sessions of other roles show only their process id. */
    struct db_rows *hidden;
};
void locks_report_free(struct locks_report *report);

/* An advisory lock, and its name in the report. */
struct lock_name {
    const char *name;
    const char *text; /* the key of the lock is hashtext() of this; NULL: the key is number */
    int64_t number;
};

/* Reads at most LOCKS_MAX rows of each kind; of advisory locks, those in names. Needs only the privilege
 * CONNECT. The caller frees *out, also after an error. */
MUST_CHECK enum err locks_read(struct db *db, const struct lock_name names[], size_t name_count,
    struct locks_report *out, struct detail *detail);
