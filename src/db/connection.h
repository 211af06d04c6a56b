/* The inside of struct db: the libpq connection, what is known about its session, and waiting with a bound.
 */
#ifndef FAIRWAY_DB_CONNECTION_H
#define FAIRWAY_DB_CONNECTION_H

#include <libpq-fe.h>

#include "attempt.h"
#include "db/db.h"
#include "prepared.h"

/* What a call may take beyond the server's own limit before the connection is given up as dead. */
#define DB_ANSWER_MARGIN_MS 1000

/* Settings of a session or a transaction: names and values in turn, as parameters of set_config. */
#define DB_LIMITS 3
#define DB_LIMIT_SIZE 16

struct db {
    char *url;
    enum db_kind kind;
    const char *name;
    int connect_timeout_s;
    int statement_timeout_ms;
    int64_t deadline_ms; /* clock_ms; 0: none */
    char limits[DB_LIMITS][DB_LIMIT_SIZE];
    struct db_param limit_params[DB_LIMITS];
    char **listens; /* "LISTEN x", repeated by each new session */
    size_t listen_count;

    PGconn *conn;            /* NULL: none */
    struct attempt *attempt; /* to connect, begun by a call that could not wait for its end; NULL: none */
    struct prepared prepared;
    bool in_transaction; /* stays set when the connection is lost in it, until db_rollback */
    bool spoiled;        /* to be opened anew before the next transaction */
    bool warned;         /* by the server, in the pipeline that is running or ran last */
    bool lock_refused;   /* the last refusal was lock_timeout's */
    bool reopened;       /* since the last db_wait_notify: notifications may have been missed */
};

/* Makes sure of a live connection outside a transaction; inside one, only says whether it is still there. */
MUST_CHECK enum err connection_ready(struct db *db, struct detail *detail);

/* Finds out without a round trip whether the peer has closed the connection since it was used last. */
bool connection_open(PGconn *conn);

/* Flushes and reads until PQgetResult will not block. False when deadline_ms (clock_ms) passed first. */
bool connection_wait(PGconn *conn, int64_t deadline_ms);

/* When a call that begins now and may take timeout_ms is over at the latest. */
int64_t connection_deadline_ms(const struct db *db, int64_t timeout_ms);

/* Drops the connection. Always ERR_DATABASE_UNAVAILABLE; detail is why, or libpq's words when why is NULL. */
enum err connection_lost(struct db *db, const char *why, struct detail *detail);

/* Writes an error result's SQLSTATE and message into detail and answers its meaning; may spoil the session.
 */
enum err connection_refusal(struct db *db, const PGresult *result, struct detail *detail);

#endif
