/*
 * One PostgreSQL connection: typed parameters in, typed columns out, binary both ways. The SQL text stands
 * above the function that runs it, in pool/, ingest/, provision/ and here; nothing outside db/ sees libpq. A
 * connection belongs to one thread at a time.
 *
 * Two kinds. DB_POOLED may lead through a transaction pooler: no prepared statements, no session settings;
 * each transaction sets its own limits with SET LOCAL (db_begin does). DB_DIRECT is a session of our own:
 * statements are prepared on first use, limits are set for the session, LISTEN and session advisory locks
 * work.
 *
 * A lost connection is opened again by the next call outside a transaction. Inside one, every call returns
 * ERR_DATABASE_UNAVAILABLE until db_rollback. No call blocks longer than statement_timeout_ms and a second,
 * plus connect_timeout_s for each host of the URL when it has to connect (and the resolver's own limit).
 * A connection is to a server that takes writes: others are as good as away.
 */
#ifndef FAIRWAY_DB_DB_H
#define FAIRWAY_DB_DB_H

#include "base/bytes.h"
#include "base/err.h"

enum db_kind {
    DB_POOLED,
    DB_DIRECT
};

struct db_settings {
    const char *url; /* libpq connection string or URI; copied */
    enum db_kind kind;
    const char *name;                /* application_name, "fairway grant"; a literal */
    int connect_timeout_s;           /* 0: 5 */
    int statement_timeout_ms;        /* 0: 5,000 */
    int lock_timeout_ms;             /* 0: 2,000 */
    int idle_transaction_timeout_ms; /* 0: 5,000 */
};

struct db;

/* Does not connect yet. Never fails. */
struct db *db_new(const struct db_settings *settings);
void db_free(struct db *db); /* NULL is fine */

/* Connects when there is no live connection. ERR_DATABASE_UNAVAILABLE (detail: libpq's words, without the
 * password); ERR_CONFIG when the URL is malformed. */
MUST_CHECK enum err db_connect(struct db *db, struct detail *detail);
/* Tries for up to seconds with growing pauses, logging each failure once a few seconds: for start-up. */
MUST_CHECK enum err db_connect_patiently(struct db *db, int seconds, struct detail *detail);
/* From now on no call waits for the server beyond deadline_ms (clock_ms; 0: none): what is under way then
 * counts as unanswered and the connection as lost. Connecting goes on without the caller; the next call waits
 * for it. */
void db_set_deadline(struct db *db, int64_t deadline_ms);
int64_t db_deadline_ms(const struct db *db);
/* Drops the connection without a word, as a crash would. */
void db_disconnect(struct db *db);

/* A parameter. Arrays become PostgreSQL arrays; what is pointed at is borrowed until the call returns. */
struct db_param {
    enum {
        DB_NULL,
        DB_I64_,
        DB_I32_,
        DB_BOOL_,
        DB_TEXT_,
        DB_BYTEA_,
        DB_I64S_,
        DB_I32S_,
        DB_BOOLS_,
        DB_TEXTS_,
        DB_BYTEAS_
    } kind;
    union {
        int64_t i64;
        int32_t i32;
        bool boolean;
        const char *text;
        struct bytes bytea;
        struct {
            const void *items; /* const int64_t[], const int32_t[], const bool[], const char *const[], const
                                  struct bytes[]; a NULL text and a bytea whose data is NULL are SQL NULL */
            size_t count;
        } array;
    } as;
};
#define DB_NONE ((struct db_param){.kind = DB_NULL})
#define DB_I64(v) ((struct db_param){.kind = DB_I64_, .as.i64 = (v)})
#define DB_I32(v) ((struct db_param){.kind = DB_I32_, .as.i32 = (v)})
#define DB_BOOL(v) ((struct db_param){.kind = DB_BOOL_, .as.boolean = (v)})
#define DB_TEXT(v) ((struct db_param){.kind = DB_TEXT_, .as.text = (v)}) /* NULL is SQL NULL */
#define DB_BYTEA(v) ((struct db_param){.kind = DB_BYTEA_, .as.bytea = (v)})
#define DB_I64S(v, n) ((struct db_param){.kind = DB_I64S_, .as.array = {(v), (n)}})
#define DB_I32S(v, n) ((struct db_param){.kind = DB_I32S_, .as.array = {(v), (n)}})
#define DB_BOOLS(v, n) ((struct db_param){.kind = DB_BOOLS_, .as.array = {(v), (n)}})
#define DB_TEXTS(v, n) ((struct db_param){.kind = DB_TEXTS_, .as.array = {(v), (n)}})
#define DB_BYTEAS(v, n) ((struct db_param){.kind = DB_BYTEAS_, .as.array = {(v), (n)}})

/* One statement with its parameters ($1, $2 ...). The text must be a literal: a direct connection prepares it
 * once, by address. */
struct db_statement {
    const char *sql;
    const struct db_param *params;
    size_t param_count;
};
#define DB_SQL(text, ...)                                                                                    \
    ((struct db_statement){(text), (const struct db_param[]){__VA_ARGS__},                                   \
        sizeof((const struct db_param[]){__VA_ARGS__}) / sizeof(struct db_param)})
#define DB_SQL0(text) ((struct db_statement){(text), NULL, 0})

/* The rows that a statement returned. */
struct db_rows;
size_t db_count(const struct db_rows *rows);
/* Rows that an INSERT, UPDATE or DELETE touched. */
size_t db_affected(const struct db_rows *rows);
/* Columns by number from 0; the type must be the column's (int8; int4; bool; text or name; bytea): anything
 * else is our bug and ends the process, as does a NULL number or boolean. A NULL text is NULL, a NULL bytea
 * has NULL data. */
bool db_is_null(const struct db_rows *rows, size_t row, int column);
int64_t db_i64(const struct db_rows *rows, size_t row, int column);
int32_t db_i32(const struct db_rows *rows, size_t row, int column);
bool db_bool(const struct db_rows *rows, size_t row, int column);
const char *db_text(const struct db_rows *rows, size_t row, int column);   /* lives as long as rows */
struct bytes db_bytea(const struct db_rows *rows, size_t row, int column); /* lives as long as rows */
void db_rows_free(struct db_rows *rows);                                   /* NULL is fine */
void db_rows_free_at(struct db_rows **rows);
#define AUTO_ROWS CLEANUP(db_rows_free_at) struct db_rows *

/*
 * Runs one statement; *rows (may be NULL when nothing is wanted) is the caller's to free, NULL on error.
 * ERR_SERIALIZATION: deadlock or serialization failure: the server rolled the transaction back, run it again.
 * ERR_CONSTRAINT: a constraint or a trigger (RAISE EXCEPTION) rejected it. ERR_DATABASE_UNAVAILABLE:
 * connection lost or refused, shutting down, timeouts, read-only, disk full. ERR_INTERNAL: anything else, our
 * bug (detail: SQLSTATE and message, for the log).
 */
MUST_CHECK enum err db_query(
    struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail);

/* Runs several statements in one round trip (a pipeline); rows[i] belongs to statements[i], NULL from the
 * first error on (free the others also then); rows may be NULL. Outside a transaction the statements of one
 * call are one transaction of their own, with the limits of db_settings on either kind of connection; a lost
 * connection then leaves open whether it happened. */
MUST_CHECK enum err db_run(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail);

/*
 * The first statements of a transaction, to be sent alone (db_begin) or in front of others in one db_run
 * (DB_BEGIN): read committed, synchronous commit whatever the role's default, and on a pooled connection the
 * limits of db_settings.
 */
MUST_CHECK enum err db_begin(struct db *db, struct detail *detail);
/* BEGIN and set_config in at most DB_BEGIN_STATEMENTS statements, for use at the front of a db_run. Answers
 * how many. */
#define DB_BEGIN_STATEMENTS 2
size_t db_begin_statements(const struct db *db, struct db_statement out[static DB_BEGIN_STATEMENTS]);
/* ERR_OUTCOME_UNKNOWN when the connection was lost after COMMIT was sent: it may have happened.
 * ERR_NOT_REPLICATED: it has, but the server gave up waiting for its synchronous standby. Any other error: it
 * did not happen. The transaction is over in each case. */
MUST_CHECK enum err db_commit(struct db *db, struct detail *detail);
/* COMMIT of a transaction that has only read: on ERR_OK what it has read is as safe as what a COMMIT wrote.
 * Errors as db_commit. */
MUST_CHECK enum err db_commit_durably(struct db *db, struct detail *detail);
/* The statements and COMMIT in one round trip; COMMIT runs only when all of them succeed. Errors as db_run
 * and db_commit; after one, db_rollback. */
MUST_CHECK enum err db_run_commit(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail);
/* One statement as a whole transaction, in one round trip: errors as db_run_commit. On ERR_OK it is
 * committed, and where a synchronous standby is waited for it is there. */
MUST_CHECK enum err db_execute(
    struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail);
void db_rollback(struct db *db); /* whatever the state; also after errors and when no transaction is open */

/*
 * BEGIN, work, COMMIT; ROLLBACK when work fails. ERR_SERIALIZATION from work or COMMIT runs it again, 5 times
 * at most, with short random pauses. Any other error is returned at once.
 */
typedef enum err (*db_work)(struct db *db, void *context);
MUST_CHECK enum err db_transaction(struct db *db, db_work work, void *context, struct detail *detail);

/* A direct connection's notifications, outside a transaction. channel: lower case letters and '_'. Repeated
 * by itself when the connection is opened anew, also after an error. */
MUST_CHECK enum err db_listen(struct db *db, const char *channel, struct detail *detail);
/* Waits up to timeout_ms; *notified tells whether any notification came (all are drained), or may have come
 * unheard: the first wait on a new connection says so at once. wake_fd (or -1) ends the wait when readable;
 * it is not read. ERR_DATABASE_UNAVAILABLE at once when the connection is lost: pause before the next call.
 */
MUST_CHECK enum err db_wait_notify(
    struct db *db, int timeout_ms, int wake_fd, bool *notified, struct detail *detail);

#endif
