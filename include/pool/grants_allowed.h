/*
 * Whether leases may be granted. All conditions are in the cursor row and are checked here:
 *
 *   - grants_allowed, which ingestion clears when it finds a gap (grants are stopped);
 *   - held_until: grants are on hold until a ledger has closed after that time, because a database that went
 *     back in time (restored from a backup, or a standby that was promoted while it lagged) may have
 *     forgotten leases that the network can still include;
 *   - paused: an operator has paused grants, and an operator ends it;
 *   - system_identifier, timeline and home, the identity of the database in which the row was last trusted:
 *     a database with another identity was restored, copied or promoted;
 *   - close_time: the database's clock must agree with it, because max times are counted from that clock.
 *
 * While grants are stopped or on hold, ledgers are still committed and sequence numbers still followed.
 */
#pragma once

#include "db/db.h"

/* For statements that name fairway.cursor c: whether this is the database in which the row was last trusted.
 */
#define GRANTS_SAME_DATABASE "fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home)"

/* ---- the decision */

/* What it depends on: columns that any statement about fairway.cursor c may have, and their values. */
#define GRANTS_COLUMNS                                                                                       \
    "c.grants_allowed, c.grants_reason, c.sequence, c.close_time,"                                           \
    " floor(extract(epoch FROM clock_timestamp()))::int8, " GRANTS_SAME_DATABASE                             \
    ", c.held_until, c.hold_reason, c.paused, c.held_since"
#define GRANTS_COLUMN_COUNT 10
struct grants_state {
    bool known; /* false: no ledger has been ingested, and nothing else is set */
    bool stopped, same_database, paused;
    uint32_t ledger; /* the last committed one */
    int64_t close_time_s, clock_s;
    int64_t held_until_s; /* 0: no hold is set */
    int64_t held_since;   /* leases that were granted after this ledger may be forgotten; 0: not known */
    char reason[160];     /* why grants are stopped, on hold or paused, cut to fit; else '' */
};
/* Reads the columns of the first row, from this one on. */
struct grants_state grants_state_read(const struct db_rows *rows, int column);

/* Whether a lease may be granted. seen: the last ledger that this process had seen committed before it read
 * the state; 0: not known. ERR_GRANTS_SUSPENDED: detail has the reason. */
MUST_CHECK enum err grants_check(
    const struct grants_state *state, unsigned ledger_ms, uint32_t seen, struct detail *detail);
/* As this process has checked it last: leases that were granted after this ledger may be forgotten; 0: none.
 */
int64_t grants_forgotten_since(void);

/* ---- for a grant transaction */

/* Its first statement: takes the grants lock shared. False: grants are being stopped. */
extern const char grants_enter_sql[];

/* Where its second statement reads GRANTS_COLUMNS, its first columns. A statement of its own after the lock:
 * its snapshot must not be older than the lock. */
#define GRANTS_FROM " FROM fairway.cursor c ORDER BY c.only_row DESC LIMIT 1"

struct grants_time {
    uint32_t ledger; /* the last committed one */
    uint64_t now_s;  /* the later one of the database's clock and that ledger's close time */
};

/* Reads the rows of both statements and checks them as grants_check. */
MUST_CHECK enum err grants_read(const struct db_rows *entered, const struct db_rows *rows, unsigned ledger_ms,
    uint32_t seen, struct grants_time *out, struct detail *detail);

/* Both statements, for a transaction that has no other use of them. */
MUST_CHECK enum err grants_enter(struct db *db, unsigned ledger_ms, struct detail *detail);

/* By how many seconds the database's clock and the last close time may differ: 30 s more than the expected
 * time between two ledgers. */
int64_t grants_clock_slack_s(unsigned ledger_ms);

/* ---- for ingestion */

/* Stops grants because the RPC no longer has the next ledger; the commit of that ledger resumes them
 * (fairway.append_ledger). Does nothing if the cursor's term is another one, or if grants are stopped
 * already: the first reason stays. */
MUST_CHECK enum err grants_stop_for_gap(struct db *db, int64_t term, struct detail *detail);
#define GRANTS_GAP_REASON "the RPC no longer has the next ledger"

/* Waits until all grant transactions that began before this call have ended. Before the call, the caller
 * commits something that stops grants. */
MUST_CHECK enum err grants_wait_out(struct db *db, struct detail *detail);

/*
 * Compares the database's identity with the cursor row's. If they differ, writes the new identity and puts
 * grants on hold; the hold is omitted if the database was promoted and synchronous (DATABASE_FAILOVER) says
 * that no commit can have been lost.
 */
MUST_CHECK enum err grants_adopt_database(
    struct db *db, bool synchronous, unsigned ledger_ms, struct detail *detail);

/*
 * Returns until when grants stay on hold, as of a ledger that is being committed (Unix seconds); 0: the hold
 * ends with this ledger, the first that closed after the max time of every lease that can have been
 * forgotten. A ledger that closed further ahead of the database's clock than grants allow shows that the hold
 * was computed with a slow clock: it is computed again from this ledger. When ledger and clock agree, the
 * hold lasts no longer than one that is computed from this ledger: a clock that was fast does not extend it.
 */
int64_t grants_hold_after(int64_t until_s, int64_t close_time_s, int64_t clock_s, unsigned ledger_ms);

#define GRANTS_SET_BACK_REASON "the database was set back"

/* Puts grants on hold for this reason, in the caller's transaction, which has locked the cursor row. Sets
 * *until_s as grants_hold_begin. */
MUST_CHECK enum err grants_hold(
    struct db *db, const char *reason, unsigned ledger_ms, int64_t *until_s, struct detail *detail);

/* ---- for an operator, and for a replica that sees that the database was set back */

/*
 * Puts grants on hold, for what leaves no trace in the database, like a copied volume. After ERR_OK nothing
 * is granted until a ledger has closed after *until_s (Unix seconds; grants_hold_after corrects it if a clock
 * was wrong), and all grants in flight have ended. Never shortens a hold; the reason of the longer one stays.
 * ERR_CONFIG: the database has no ledger yet, so it cannot have forgotten a lease.
 * ERR_DATABASE_UNAVAILABLE may leave the hold set while grants that did not see it are in flight; detail says
 * so: repeat.
 */
MUST_CHECK enum err grants_hold_begin(
    struct db *db, const char *reason, unsigned ledger_ms, int64_t *until_s, struct detail *detail);

/* Pauses grants for this reason until an operator ends the pause; NULL: ends it. *was: whether they were
 * paused. Open leases go on and end. Errors as grants_hold_begin; after ERR_OK of a pause all grants in
 * flight have ended. */
MUST_CHECK enum err grants_pause(struct db *db, const char *reason, bool *was, struct detail *detail);
