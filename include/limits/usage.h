/*
 * The limits openLeases and poolPercent of the clients of one batch. A batch reads in its first round trip,
 * without a lock, how many leases its clients have, and refuses those that are above a limit before anything
 * is signed. fairway.record_leases counts again, under the lock of each client's row, and records only as
 * many as are left then. A client whose name is '' is nobody: it has no limits and is not counted.
 */
#ifndef FAIRWAY_LIMITS_USAGE_H
#define FAIRWAY_LIMITS_USAGE_H

#include "db/db.h"
#include "limits/limits.h"

#define USAGE_MAX 64 /* items of a batch */

struct usage_client {
    const char *name;
    const struct limits *limits;
    int64_t open_max; /* by both limits */
    enum limit limit; /* which of them is less */
    int64_t left;     /* leases that it may still get in this batch */
};

struct usage {
    struct usage_client clients[USAGE_MAX]; /* those with a limit on open leases */
    size_t count;
    struct usage_client *of[USAGE_MAX]; /* by item; NULL: no limit */
    const char *names[USAGE_MAX];       /* for the statement */
    struct db_param params[1];
};

/* Item i is a request of this client. *usage is zeroed before the first one. Name and limits are borrowed. */
void usage_add(struct usage *usage, size_t i, const char *name, const struct limits *limits);

/* Reads what the clients have; its text is NULL when none of them has limits. */
struct db_statement usage_statement(struct usage *usage);
MUST_CHECK enum err usage_read(struct usage *usage, const struct db_rows *rows, struct detail *detail);
/* What usage_read has found for one client: its open leases, and the accounts of the pool. */
void usage_found(struct usage_client *client, int64_t open_leases, int64_t pool_accounts);

/* Whether the client of item i may get one more lease; usage_take says that it gets one. */
bool usage_allows(const struct usage *usage, size_t i);
void usage_take(struct usage *usage, size_t i);

/* For fairway.record_leases: how many open leases the client of item i may have; 0: as many as it likes. */
int64_t usage_open_max(const struct usage *usage, size_t i);
/* The limit on the open leases of item i's client; LIMIT_NONE: it has none. */
enum limit usage_limit(const struct usage *usage, size_t i);

#endif
