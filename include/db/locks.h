/*
 * Which sessions of this database wait for which others, who holds fairway's advisory locks, and what keeps
 * vacuum from removing dead rows. (An old snapshot makes a small table grow and slows every statement on it.)
 * Reads system views and takes no lock. src/README.md has the order in which fairway's transactions lock.
 */
#pragma once

#include "db/db.h"

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

/* Lines for an operator, at most 100 of each kind. Column 0 is the text, which may have line breaks; column 1
 * is a bool: it is a lock for longer than a session of fairway waits. */
struct locks_report {
    struct db_rows *waits;   /* each session that waits for a lock, with each one that blocks it */
    struct db_rows *holders; /* who holds an advisory lock, or for so long one of a table */
    struct db_rows *pins;    /* what has kept vacuum from removing dead rows for so long, or for an unknown
                              * time; the oldest first */
    struct db_rows *hidden;  /* how many sessions of other roles show only their process id; no row: none */
};
void locks_report_free(struct locks_report *report);

/* An advisory lock, and its name in the report. */
struct lock_name {
    const char *name;
    const char *text; /* the key of the lock is hashtext() of this; NULL: the key is number */
    int64_t number;
};

/* Of advisory locks, those in names are shown. Needs only the privilege CONNECT. The caller frees *out, also
 * after an error. */
MUST_CHECK enum err locks_read(struct db *db, const struct lock_name names[], size_t name_count,
    struct locks_report *out, struct detail *detail);
