/*
 * A database that has gone back in time (restored from a backup, or a standby that was promoted while it
 * lagged) may have forgotten leases that are still live. No lease is granted then until a ledger has closed
 * after the longest max time that a forgotten one can have (DESIGN section 5). Meanwhile ledgers are
 * followed, and sequence numbers mirrored.
 */
#ifndef FAIRWAY_POOL_GRANTS_ALLOWED_H
#define FAIRWAY_POOL_GRANTS_ALLOWED_H

#include "db/db.h"

/* Seconds that the database's clock may be away from the last close time, beyond the ledger that is due. */
#define GRANTS_CLOCK_SLACK_S 30

/* The first statement of each grant transaction: takes the grants lock shared. False: grants are being
 * stopped. */
extern const char grants_enter_sql[];

/* Waits until no grant transaction is in flight that began before this call. The caller has committed
 * something that stops grants before. */
MUST_CHECK enum err grants_wait_out(struct db *db, struct detail *detail);

/*
 * By hand, for what leaves no trace in the database, like a copied volume. Behind ERR_OK nothing is granted
 * until a ledger has closed after *until_s (Unix seconds; grants_hold_after corrects it where a clock was
 * wrong); grants in flight were waited for. Never shortens a hold; the reason of the longer one stays.
 * ERR_CONFIG: the database has no ledger yet, so that nothing can have been forgotten.
 * ERR_DATABASE_UNAVAILABLE may leave the hold set, with grants in flight that did not see it; detail says so:
 * repeat.
 */
MUST_CHECK enum err grants_hold_begin(
    struct db *db, const char *reason, unsigned ledger_seconds, int64_t *until_s, struct detail *detail);

/*
 * Notices that the database is not the one in which the cursor row was last trusted, and trusts it from now
 * on: behind a hold, or at once when it was promoted and synchronous says that no commit can have been lost.
 * *noticed is false when it is the same one.
 */
MUST_CHECK enum err grants_hold_notice(
    struct db *db, bool synchronous, unsigned ledger_seconds, bool *noticed, struct detail *detail);

/*
 * Until when a hold goes on, as of a ledger that is being committed; 0: it ends with this one, the first that
 * closed after every max time that a forgotten lease can have. A ledger that closed further ahead of the
 * database's clock than grants allow shows that the hold was counted by a wrong clock: it begins anew. Where
 * both agree, it goes on for no longer than from this ledger: a clock that ran ahead does not count.
 */
int64_t grants_hold_after(int64_t until_s, int64_t close_time_s, int64_t clock_s, unsigned ledger_seconds);

#endif
