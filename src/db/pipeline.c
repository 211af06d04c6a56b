/* Statements in one round trip. No transaction is begun, ended or repeated here. */
#include "pipeline.h"

#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "rows.h"

/* One request in the pipeline, with results of its own: the preparation of a statement, or its execution. */
struct step {
    size_t statement; /* index of the caller's statement; NOTHING: of the implied COMMIT */
    size_t prepares;  /* index in db->prepared; NOTHING: this is an execution */
};
#define NOTHING SIZE_MAX

static const struct step implied_commit = {NOTHING, NOTHING};

struct pipeline {
    struct db *db;
    struct step *steps;
    size_t count;
};

static void add_step(struct pipeline *pipeline, size_t statement, size_t prepares)
{
    pipeline->steps[pipeline->count++] = (struct step){statement, prepares};
}

static bool send_prepared(struct pipeline *pipeline, size_t i, const char *sql, const struct params *params)
{
    PGconn *conn = pipeline->db->conn;
    size_t at = prepared_find(&pipeline->db->prepared, sql, params);
    struct prepared_statement *item = &pipeline->db->prepared.items[at];
    if (item->state == PREPARED_NOT) {
        if (!PQsendPrepare(conn, item->name, sql, params->count, params->types))
            return false;
        item->state = PREPARED_SENT;
        add_step(pipeline, i, at);
    }
    add_step(pipeline, i, NOTHING);
    return PQsendQueryPrepared(
        conn, item->name, params->count, params->values, params->lengths, params->formats, 1);
}

static bool send_all(struct pipeline *pipeline, const struct db_statement statements[], size_t count)
{
    struct params params CLEANUP(params_free) = {0};
    bool sent = PQenterPipelineMode(pipeline->db->conn);
    for (size_t i = 0; i < count && sent; i++) {
        params_encode(&params, statements[i].params, statements[i].param_count);
        sent = send_prepared(pipeline, i, statements[i].sql, &params);
    }
    return sent && PQpipelineSync(pipeline->db->conn);
}

/* Handles one result, which is neither NULL nor the Sync's. */
static enum err take_result(struct pipeline *pipeline, const struct step *step, PGresult *result,
    struct db_rows **rows, struct detail *detail)
{
    struct db *db = pipeline->db;
    enum err e = ERR_OK;
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
        if (step->prepares != NOTHING)
            db->prepared.items[step->prepares].state = PREPARED_READY;
        else if (rows != NULL && step->statement != NOTHING) {
            rows[step->statement] = rows_new(result);
            return ERR_OK;
        }
        break;
    case PGRES_PIPELINE_ABORTED:
        break;
    case PGRES_FATAL_ERROR:
        e = connection_error(db, result, detail);
        break;
    default: /* COPY and the like, after which the connection cannot be used */
        db_disconnect(db);
        e = detail_set(
            detail, ERR_INTERNAL, "unexpected result %s of a statement", PQresStatus(PQresultStatus(result)));
    }
    PQclear(result);
    return e;
}

/* Reads the results of all steps. After the last step one more can fail: the COMMIT that the Sync implies,
 * which checks deferred constraints. */
static enum err read_all(struct pipeline *pipeline, struct db_rows *rows[], struct detail *detail)
{
    struct db *db = pipeline->db;
    int64_t deadline_ms = connection_deadline_ms(db, db->statement_timeout_ms + DB_ANSWER_MARGIN_MS);
    enum err e = ERR_OK;
    size_t at = 0;
    for (;;) {
        if (!connection_wait(db->conn, deadline_ms))
            return connection_lost(db, "the server does not respond", detail);
        PGresult *result = PQgetResult(db->conn);
        if (result == NULL && PQstatus(db->conn) == CONNECTION_OK && at <= pipeline->count) {
            at++; /* end of the results of this step */
            continue;
        }
        if (result != NULL && PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return e;
        }
        if (result == NULL)
            return connection_lost(db, NULL, e == ERR_OK ? detail : NULL);
        /* The results after the first error only say that their statement did not run. */
        const struct step *step = at < pipeline->count ? &pipeline->steps[at] : &implied_commit;
        enum err own = take_result(pipeline, step, result, rows, e == ERR_OK ? detail : NULL);
        e = e == ERR_OK ? own : e;
        if (db->conn == NULL)
            return e;
    }
}

enum err pipeline_run(struct db *db, const struct db_statement statements[], size_t count,
    struct pipeline_results *results, struct detail *detail)
{
    INVARIANT(db->conn != NULL);
    AUTO_FREE struct step *steps = NEW_ARRAY(2 * count, struct step);
    struct pipeline pipeline = {.db = db, .steps = steps};
    for (size_t i = 0; i < count && results->rows != NULL; i++)
        results->rows[i] = NULL;
    results->incomplete = true;
    db->warned = false;
    if (!send_all(&pipeline, statements, count))
        return connection_lost(db, NULL, detail);
    INVARIANT(pipeline.count <= 2 * count);
    enum err e = read_all(&pipeline, results->rows, detail);
    if (db->conn != NULL && (PQstatus(db->conn) != CONNECTION_OK || !PQexitPipelineMode(db->conn)))
        connection_lost(db, NULL, NULL);
    results->incomplete = db->conn == NULL;
    if (db->conn != NULL) {
        prepared_settle(&db->prepared);
        db->in_transaction = PQtransactionStatus(db->conn) != PQTRANS_IDLE;
    }
    return e;
}
