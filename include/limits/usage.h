/*
 * The limits openLeases, poolPercent and contractPercent of the clients of one batch. A batch reads in its
 * first round trip, without a lock, how many leases its clients have, and refuses those that are above a
 * limit before anything is signed. fairway.record_leases counts again, under the lock of each client's row:
 * when another batch has used what was left, it records nothing, and the batch runs again. A client whose
 * name is '' is nobody: it has no limits and is not counted.
 */
#pragma once

#include "db/db.h"
#include "limits/limits.h"

#define USAGE_MAX 64 /* items of a batch */

/* A client's open leases, all or those that call one contract. */
struct usage_row {
    const char *client, *contract; /* contract NULL: all */
    const struct limits *limits;
    int64_t open_max; /* by its limits */
    enum limit limit; /* which of them is the least */
    int64_t left;     /* leases that it may still get in this batch */
};

struct usage {
    struct usage_row rows[2 * USAGE_MAX]; /* those with a limit */
    size_t count;
    struct usage_row *of_client[USAGE_MAX], *of_contract[USAGE_MAX]; /* by item; NULL: no limit */
    const char *clients[2 * USAGE_MAX], *contracts[2 * USAGE_MAX];   /* for the statement */
    struct db_param params[2];
};

/* Item i is a request of this client that calls this contract ('': none). *usage is zeroed before the first
 * one. Names and limits are borrowed. */
void usage_add(
    struct usage *usage, size_t i, const char *client, const char *contract, const struct limits *limits);

/* Reads what the clients have; its text is NULL when none of them has limits. */
struct db_statement usage_statement(struct usage *usage);
void usage_read(struct usage *usage, const struct db_rows *rows);
/* What usage_read has found for one row: its open leases, and the accounts of the pool. */
void usage_found(struct usage_row *row, int64_t open_leases, int64_t pool_accounts);

/* The limit that forbids item i one more lease, or LIMIT_NONE; usage_take says that it gets one. */
enum limit usage_refuses(const struct usage *usage, size_t i);
void usage_take(struct usage *usage, size_t i);

/* For fairway.record_leases: how many open leases the client of an item may have, by of_client, or how many
 * that call its contract, by of_contract; 0: as many as it likes. */
int64_t usage_most(const struct usage_row *row);
