/*
 * One PostgreSQL connection, with typed parameters and typed columns in binary format. SQL text is directly
 * above the function that runs it, in the modules that own tables and here; libpq is used only in db/. A
 * connection belongs to one thread at a time.
 *
 * Statements are prepared on first use; limits and planner settings are set when a session opens; LISTEN and
 * session advisory locks work. So a connection leads to PostgreSQL itself: one through a pooler, such as
 * PgBouncer, is refused (ERR_CONFIG).
 *
 * The next call outside a transaction reopens a lost connection. Inside a transaction, every call returns
 * ERR_DATABASE_UNAVAILABLE until db_rollback. A call blocks for at most statement_timeout_ms plus one second.
 * When it has to connect, name resolution and connect_timeout_s for each host of the URL are added. A server
 * that accepts no writes counts as unavailable.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

struct db_settings {
    const char *url;                 /* libpq connection string or URI; copied */
    const char *name;                /* application_name, such as "fairway grant"; not copied: a literal */
    int connect_timeout_s;           /* 0: 5 */
    int statement_timeout_ms;        /* 0: 5,000 */
    int lock_timeout_ms;             /* 0: 2,000 */
    int idle_transaction_timeout_ms; /* 0: 5,000 */
};

struct db;

/* Who runs this process, and why ("": not said): the sessions of connections that are made from now on leave
 * it in events (fairway.note). Copied, cut to 149 and 199 bytes. */
void db_set_actor(const char *who, const char *why);

/* Each session of this process that is opened from now on has the URL of this file, when that can be read:
 * passwords change. NULL: none; not copied. */
void db_set_url_file(char *path);

/* Does not connect. Never fails. */
struct db *db_new(const struct db_settings *settings);
void db_free(struct db *db); /* NULL is fine */

/* Connects unless there is a live connection; inside a transaction that has lost it, it only fails.
 * ERR_DATABASE_UNAVAILABLE (detail: libpq's message, without the password). ERR_CONFIG: the URL is malformed,
 * or leads through a pooler. */
MUST_CHECK enum err db_connect(struct db *db, struct detail *detail);
/* From now on a call that still waits for the server at deadline_ms (clock_ms; 0: none) fails, and the
 * connection counts as lost. An attempt to connect continues on its own thread; the next call waits for it.
 */
void db_set_deadline(struct db *db, int64_t deadline_ms);
int64_t db_deadline_ms(const struct db *db);
/* Whether the session of the last call is still there: its locks, too. Makes no round trip. */
bool db_is_open(const struct db *db);
/* Closes the connection; the server rolls back an open transaction. The next call connects again (inside a
 * transaction: after db_rollback). */
void db_disconnect(struct db *db);

/* A parameter. Arrays become PostgreSQL arrays. Pointers are borrowed until the call returns. */
struct db_param {
    enum {
        DB_NULL,
        DB_I64_,
        DB_I32_,
        DB_BOOL_,
        DB_TEXT_,
        DB_BYTEA_,
        DB_I64S_,
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
            const void *items; /* const int64_t[], const char *const[], const struct bytes[]; a NULL text and
                                  a bytea whose data is NULL are SQL NULL */
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
#define DB_TEXTS(v, n) ((struct db_param){.kind = DB_TEXTS_, .as.array = {(v), (n)}})
#define DB_BYTEAS(v, n) ((struct db_param){.kind = DB_BYTEAS_, .as.array = {(v), (n)}})

/* One statement with its parameters ($1, $2 ...). */
struct db_statement {
    const char *sql;
    const struct db_param *params;
    size_t param_count;
};
#define DB_SQL(text, ...)                                                                                    \
    ((struct db_statement){(text), (const struct db_param[]){__VA_ARGS__},                                   \
        sizeof((const struct db_param[]){__VA_ARGS__}) / sizeof(struct db_param)})
#define DB_SQL0(text) ((struct db_statement){(text), NULL, 0})

/* The result of a statement. */
struct db_rows;
/* Rows returned: to compare, or to allocate for them (tests/lint/rows.mjs). */
size_t db_count(const struct db_rows *rows);
/* The same for a loop. most: items of the array that the rows fill, or DB_ANY_COUNT: they fill none. More
 * rows are a bug, because the statement limits them, and end the process. */
size_t db_count_at_most(const struct db_rows *rows, size_t most);
#define DB_ANY_COUNT SIZE_MAX
/* The index of an array of count items that a number of WITH ORDINALITY is; any other is a bug too. */
size_t db_ordinal(const struct db_rows *rows, size_t row, int column, size_t count);
/* Columns are numbered from 0. A column of another type (int8; int4; bool; text or name; bytea) is a bug and
 * ends the process, as does a NULL number or boolean. A NULL text is NULL; a NULL bytea has NULL data. */
bool db_is_null(const struct db_rows *rows, size_t row, int column);
int64_t db_i64(const struct db_rows *rows, size_t row, int column);
int32_t db_i32(const struct db_rows *rows, size_t row, int column);
bool db_bool(const struct db_rows *rows, size_t row, int column);
const char *db_text(const struct db_rows *rows, size_t row, int column);   /* lives as long as rows */
struct bytes db_bytea(const struct db_rows *rows, size_t row, int column); /* lives as long as rows */
/* Copies a bytea of exactly so many bytes; any other, and a NULL, is a bug too. */
void db_copy(const struct db_rows *rows, size_t row, int column, void *out, size_t size);
void db_rows_free(struct db_rows *rows); /* NULL is fine */
void db_rows_free_at(struct db_rows **rows);
#define AUTO_ROWS CLEANUP(db_rows_free_at) struct db_rows *
/* Frees those before the first NULL. */
void db_rows_free_all(struct db_rows *(*rows)[]);
/* The rows of as many statements of db_run, with a NULL after them. */
#define AUTO_ROWS_OF(name, statements)                                                                       \
    struct db_rows *name[ARRAY_LEN(statements) + 1] CLEANUP(db_rows_free_all) = {0}

/*
 * Runs one statement. The caller frees *rows, which is NULL on error. rows may be NULL: not wanted.
 * ERR_SERIALIZATION: deadlock or serialization failure; the server rolled the transaction back, run it again.
 * ERR_CONSTRAINT: a constraint or a trigger (RAISE EXCEPTION) rejected it. ERR_DATABASE_UNAVAILABLE:
 * connection lost or refused, shutting down, timeouts, read-only, disk full. ERR_INTERNAL: anything else, our
 * bug (detail: SQLSTATE and message, for the log).
 */
MUST_CHECK enum err db_query(
    struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail);

/* Runs several statements in one round trip (a pipeline). rows[i] belongs to statements[i] and is NULL from
 * the first error on; free the others even then. rows may be NULL. Outside a transaction the statements of a
 * call are one transaction; when the connection is lost, it is unknown whether that was committed. */
MUST_CHECK enum err db_run(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail);

/* Begins a transaction: read committed, with synchronous commit whatever the default of the role. */
MUST_CHECK enum err db_begin(struct db *db, struct detail *detail);
/* The statement of db_begin, to be sent with others in one db_run: the first of them. */
#define DB_BEGIN DB_SQL0(db_sql_begin)
extern const char db_sql_begin[];
/* ERR_OUTCOME_UNKNOWN: the connection was lost after COMMIT was sent; the transaction may be committed.
 * ERR_NOT_REPLICATED: it is committed, but the server stopped waiting for its synchronous standby. Any other
 * error: it is not committed. In each case no transaction is open afterwards. */
MUST_CHECK enum err db_commit(struct db *db, struct detail *detail);
/* Commits a transaction that has only read. On ERR_OK the synchronous standby has everything that it read.
 * Errors as db_commit. */
MUST_CHECK enum err db_commit_durably(struct db *db, struct detail *detail);
/* Runs the statements and COMMIT in one round trip; COMMIT runs only when all of them succeed. Errors as
 * db_run and db_commit; call db_rollback after an error. */
MUST_CHECK enum err db_run_commit(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail);
/* Runs one statement as a transaction of its own, in one round trip; not inside a transaction. On ERR_OK it
 * is committed, and on the synchronous standby if there is one. rows must not be NULL. Errors as
 * db_run_commit, but no transaction is open afterwards. */
MUST_CHECK enum err db_execute(
    struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail);
void db_rollback(struct db *db); /* in any state, also after errors and without a transaction */

/*
 * Runs BEGIN, work and COMMIT; ROLLBACK when work fails. On ERR_SERIALIZATION from work or COMMIT it runs all
 * of them again after a short random pause, up to 5 attempts in total. Any other error is returned at once.
 */
typedef enum err (*db_work)(struct db *db, void *context);
MUST_CHECK enum err db_transaction(struct db *db, db_work work, void *context, struct detail *detail);

/* Listens to the one channel of this connection, outside a transaction. Each later session listens too, even
 * if this call fails. channel: lower-case letters and '_'. */
MUST_CHECK enum err db_listen(struct db *db, const char *channel, struct detail *detail);
/* Waits up to timeout_ms for a notification, and consumes all that have come. *notified is also true for the
 * first wait on a new connection, because a notification may have been missed. The wait also ends when
 * wake_fd (-1: none) is readable; wake_fd is not read. When the connection is lost, returns
 * ERR_DATABASE_UNAVAILABLE at once: pause before the next call. */
MUST_CHECK enum err db_wait_notify(
    struct db *db, int timeout_ms, int wake_fd, bool *notified, struct detail *detail);
