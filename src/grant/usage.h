/*
 * Limits of clients on their leases. What a client uses is counted in the database, for all replicas
 * together. A batch reads it in its first round trip, without a lock, and refuses what is above a limit. In
 * its last one, after its leases were recorded, it is checked again under the lock of the client's row. When
 * another batch was faster, this one runs again, and now locks the rows before it reads them, so that it
 * cannot lose again: its other clients must not fail for it.
 */
#ifndef FAIRWAY_GRANT_USAGE_H
#define FAIRWAY_GRANT_USAGE_H

#include "grant/grant.h"

/* One client of the batch that has limits. */
struct usage_client {
    const char *name;
    const struct lease_limits *limits;
    int64_t open_max;             /* by both limits on open leases; 0: none */
    const char *open_limit;       /* which of them is less */
    int64_t open_left, rate_left; /* leases that it may still get in this batch */
};

struct usage {
    struct usage_client clients[GRANT_BATCH_MAX];
    size_t count;
    struct usage_client *of[GRANT_BATCH_MAX]; /* by grant; NULL: no limit */
    /* what the statements' parameters point to */
    const char *names[GRANT_BATCH_MAX];
    int64_t granted[GRANT_BATCH_MAX], open_max[GRANT_BATCH_MAX], per_second[GRANT_BATCH_MAX];
    struct db_param read_params[1], use_params[4];
};

/* *usage is zeroed before. */
void usage_init(struct usage *usage, struct grant *const grants[], size_t count);

/* The statements that lock and read what is used; their text is NULL when no client has limits. */
struct db_statement usage_lock_statement(const struct usage *usage);
struct db_statement usage_read_statement(const struct usage *usage);
MUST_CHECK enum err usage_read(struct usage *usage, const struct db_rows *rows, struct detail *detail);

/* Whether grant i may get a lease: ERR_LIMIT_EXCEEDED, with grants[i]->limit, when its client may not. */
MUST_CHECK enum err usage_admit(
    struct usage *usage, struct grant *const grants[], size_t i, struct detail *detail);
/* Grant i gets an account. */
void usage_take(struct usage *usage, size_t i);

/* The statement to run after the leases of these requests were recorded; its text is NULL when none of their
 * clients has limits. It overwrites the parameters of the reading one. ERR_SERIALIZATION: a client of these
 * requests is above a limit. */
struct db_statement usage_use_statement(
    struct usage *usage, const struct lease_request *const requests[], size_t count);

#endif
