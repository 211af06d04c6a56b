/* Statements and transactions of db.h, on top of the pipeline. */
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "connection.h"
#include "pipeline.h"
#include "rows.h"

#define TRANSACTION_TRIES 5
#define TRANSACTION_PAUSE_MS 20
#define TRANSACTION_PAUSE_MAX_MS 80

/* Overrides the role's defaults. With READ WRITE, BEGIN fails at once on a server that is a standby. */
const char db_sql_begin[] = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";

static const char sql_commit[] = "COMMIT";
static const char sql_rollback[] = "ROLLBACK";

/* Writes a WAL record and nothing else. A COMMIT without WAL does not wait for the synchronous standby,
 * although the rows that the transaction has read may not be there yet. */
static const char sql_durable[] = "SELECT pg_logical_emit_message(true, 'fairway', '')";

/* begins: the statements begin a transaction. */
static enum err connect_for(struct db *db, bool begins, struct detail *detail)
{
    enum err e = db_connect(db, detail);
    INVARIANT(!begins || !db->in_transaction);
    db->in_transaction |= begins && e == ERR_OK;
    return e;
}

enum err db_run(struct db *db, const struct db_statement statements[], size_t count, struct db_rows *rows[],
    struct detail *detail)
{
    for (size_t i = 0; i < count && rows != NULL; i++)
        rows[i] = NULL;
    enum err e = connect_for(db, count > 0 && statements[0].sql == db_sql_begin, detail);
    if (e != ERR_OK || count == 0)
        return e;
    return pipeline_run(db, statements, count, &(struct pipeline_results){.rows = rows}, detail);
}

enum err db_query(struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail)
{
    enum err e = db_run(db, &statement, 1, rows, detail);
    if (e != ERR_OK && rows != NULL) { /* the implied COMMIT may have failed after the rows came */
        db_rows_free(*rows);
        *rows = NULL;
    }
    return e;
}

enum err db_begin(struct db *db, struct detail *detail)
{
    enum err e = db_query(db, DB_BEGIN, NULL, detail);
    if (e != ERR_OK)
        db_rollback(db);
    return e;
}

/* An error that the server has returned is certain even when the connection was lost afterwards. */
static enum err commit_outcome(
    const struct db *db, enum err e, bool incomplete, const struct db_rows *committed, struct detail *detail)
{
    if (e == ERR_DATABASE_UNAVAILABLE && incomplete)
        return ERR_OUTCOME_UNKNOWN;
    if (e == ERR_OK && strcmp(rows_tag(committed), "COMMIT") != 0)
        return detail_set(detail, ERR_INTERNAL, "COMMIT of a transaction that had failed");
    /* the server only warns when its wait for the synchronous standby is cancelled: the transaction is
     * committed */
    if (e == ERR_OK && db->warned)
        return detail_set(detail, ERR_NOT_REPLICATED, "COMMIT did not wait for the synchronous standby");
    return e;
}

enum err db_run_commit(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail)
{
    for (size_t i = 0; i < count && rows != NULL; i++)
        rows[i] = NULL;
    const bool begins = count > 0 && statements[0].sql == db_sql_begin;
    if (!db->in_transaction && !begins)
        return detail_set(detail, ERR_INTERNAL, "COMMIT without a transaction");
    enum err e = connect_for(db, begins, detail);
    if (e != ERR_OK)
        return e;
    /* Closed before COMMIT was sent: the transaction cannot be committed. */
    if (!connection_is_open(db->conn))
        return connection_lost(db, "the server closed the connection in this transaction", detail);
    AUTO_FREE struct db_statement *all = NEW_ARRAY(count + 1, struct db_statement);
    AUTO_FREE struct db_rows **all_rows = NEW_ARRAY(count + 1, struct db_rows *);
    if (count != 0)
        memcpy(all, statements, count * sizeof statements[0]);
    all[count] = DB_SQL0(sql_commit);
    struct pipeline_results results = {.rows = all_rows};
    e = pipeline_run(db, all, count + 1, &results, detail);
    e = commit_outcome(db, e, results.incomplete, all_rows[count], detail);
    for (size_t i = 0; i <= count; i++)
        if (rows != NULL && i < count)
            rows[i] = all_rows[i];
        else
            db_rows_free(all_rows[i]);
    return e;
}

static enum err commit(struct db *db, const struct db_statement *last, size_t count, struct detail *detail)
{
    enum err e = db_run_commit(db, last, count, NULL, detail);
    if (e != ERR_OK)
        db_rollback(db);
    return e;
}

enum err db_commit(struct db *db, struct detail *detail)
{
    return commit(db, NULL, 0, detail);
}

enum err db_commit_durably(struct db *db, struct detail *detail)
{
    return commit(db, &DB_SQL0(sql_durable), 1, detail);
}

enum err db_execute(
    struct db *db, struct db_statement statement, struct db_rows **rows, struct detail *detail)
{
    struct db_rows *all[2];
    enum err e = db_run_commit(db, (const struct db_statement[]){DB_BEGIN, statement}, 2, all, detail);
    db_rows_free(all[0]);
    *rows = all[1];
    if (e == ERR_OK)
        return ERR_OK;
    db_rows_free(*rows);
    *rows = NULL;
    db_rollback(db);
    return e;
}

void db_rollback(struct db *db)
{
    bool open = db->in_transaction && db->conn != NULL;
    if (open && pipeline_run(db, &DB_SQL0(sql_rollback), 1, &(struct pipeline_results){0}, NULL) != ERR_OK)
        db_disconnect(db);
    db->in_transaction = false;
}

static enum err try_transaction(struct db *db, db_work work, void *context, struct detail *detail)
{
    enum err e = db_begin(db, detail);
    if (e != ERR_OK)
        return e;
    e = work(db, context);
    if (e == ERR_OK)
        return db_commit(db, detail);
    db_rollback(db);
    return e;
}

enum err db_transaction(struct db *db, db_work work, void *context, struct detail *detail)
{
    struct backoff pause = {0};
    for (int tries = 1;; tries++) {
        enum err e = try_transaction(db, work, context, detail);
        INVARIANT(!db->in_transaction);
        if (e != ERR_SERIALIZATION || tries == TRANSACTION_TRIES)
            return e;
        clock_sleep_ms((int)backoff_next(&pause, TRANSACTION_PAUSE_MS, TRANSACTION_PAUSE_MAX_MS));
    }
}
