/* The inside of struct db: the libpq connection, waiting on it with a deadline, and what its errors mean. */
#pragma once

#include <libpq-fe.h>

#include "attempt.h"
#include "db/db.h"
#include "prepared.h"

/* statement_timeout, lock_timeout, idle_in_transaction_session_timeout, as parameters of set_config; after
 * them are who and why. */
#define DB_LIMITS 3
#define DB_LIMIT_SIZE 16

struct db {
    char *url;
    const char *name;
    int connect_timeout_s;
    int statement_timeout_ms;
    int64_t deadline_ms; /* clock_ms; 0: none */
    char limits[DB_LIMITS][DB_LIMIT_SIZE];
    struct db_param session_params[DB_LIMITS + 2];
    char *listen; /* "LISTEN x", run again in each new session; NULL: none */

    PGconn *conn;            /* NULL: none */
    struct attempt *attempt; /* to connect: left running by a call that reached its deadline; NULL: none */
    struct prepared prepared;
    bool in_transaction; /* stays set when the connection is lost in the transaction, until db_rollback */
    bool spoiled;        /* reconnect before the next transaction */
    bool warned;         /* the server sent a WARNING in the current or last pipeline */
    bool lock_refused;   /* the last error was lock_timeout's */
    bool role_refused;   /* the last error was a missing privilege of the role */
    bool reopened;       /* since the last db_wait_notify: notifications may have been missed */
};

/* Whether the connection still looks open: the peer has not closed it. Makes no round trip. */
bool connection_is_open(PGconn *conn);

/* Flushes and reads until PQgetResult will not block. False when deadline_ms (clock_ms) passes first. */
bool connection_wait(PGconn *conn, int64_t deadline_ms);

/* The deadline (clock_ms) of a call that may take timeout_ms from now; db_set_deadline's when that is
 * earlier. */
int64_t connection_deadline_ms(const struct db *db, int64_t timeout_ms);

/* Closes the connection. Always returns ERR_DATABASE_UNAVAILABLE; detail is why, or libpq's message when why
 * is NULL. */
enum err connection_lost(struct db *db, const char *why, struct detail *detail);

/* Returns the error that an error result stands for, with SQLSTATE and message in detail. May set spoiled and
 * lock_refused. Closes the connection when the error is libpq's own. */
enum err connection_error(struct db *db, const PGresult *result, struct detail *detail);
