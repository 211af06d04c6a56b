#include "pipeline.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rows.h"

/* One message group that gets an answer: a Parse of its own, or a statement. */
struct step {
    size_t statement; /* or NOTHING */
    size_t prepares;  /* place in db->prepared, or NOTHING */
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

static bool send_unnamed(struct pipeline *pipeline, size_t i, const char *sql, const struct params *params)
{
    add_step(pipeline, i, NOTHING);
    return PQsendQueryParams(pipeline->db->conn, sql, params->count, params->types, params->values,
        params->lengths, params->formats, 1);
}

static bool send_all(struct pipeline *pipeline, const struct db_statement statements[], size_t count)
{
    struct params params = {0};
    bool sent = PQenterPipelineMode(pipeline->db->conn);
    for (size_t i = 0; i < count && sent; i++) {
        params_encode(&params, statements[i].params, statements[i].param_count);
        sent = (pipeline->db->kind == DB_DIRECT ? send_prepared : send_unnamed)(
            pipeline, i, statements[i].sql, &params);
    }
    params_free(&params);
    return sent && PQpipelineSync(pipeline->db->conn);
}

/* One result that is neither NULL nor the Sync's. */
static enum err take(struct pipeline *pipeline, const struct step *step, PGresult *result,
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
        e = connection_refusal(db, result, detail);
        break;
    default: /* COPY and the like, which this protocol here cannot get out of */
        db_disconnect(db);
        e = detail_set(
            detail, ERR_INTERNAL, "a statement answers with %s", PQresStatus(PQresultStatus(result)));
    }
    PQclear(result);
    return e;
}

/* Behind the last step there is one more that can fail: the COMMIT that the Sync implies, with its deferred
 * constraints. */
static enum err read_all(struct pipeline *pipeline, struct db_rows *rows[], struct detail *detail)
{
    struct db *db = pipeline->db;
    int64_t deadline_ms = connection_deadline_ms(db, db->statement_timeout_ms + DB_ANSWER_MARGIN_MS);
    enum err e = ERR_OK;
    size_t at = 0;
    for (;;) {
        if (!connection_wait(db->conn, deadline_ms))
            return connection_lost(db, "the server does not answer", detail);
        PGresult *result = PQgetResult(db->conn);
        if (result == NULL && PQstatus(db->conn) == CONNECTION_OK && at <= pipeline->count) {
            at++; /* this step's answer is complete */
            continue;
        }
        if (result != NULL && PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return e;
        }
        if (result == NULL)
            return connection_lost(db, NULL, e == ERR_OK ? detail : NULL);
        /* What follows the first error only says that it was not run. */
        const struct step *step = at < pipeline->count ? &pipeline->steps[at] : &implied_commit;
        enum err mine = take(pipeline, step, result, rows, e == ERR_OK ? detail : NULL);
        e = e == ERR_OK ? mine : e;
        if (db->conn == NULL)
            return e;
    }
}

enum err pipeline_run(struct db *db, const struct db_statement statements[], size_t count,
    struct pipeline_answers *answers, struct detail *detail)
{
    AUTO_FREE struct step *steps = NEW_ARRAY(2 * count, struct step);
    struct pipeline pipeline = {.db = db, .steps = steps};
    for (size_t i = 0; i < count && answers->rows != NULL; i++)
        answers->rows[i] = NULL;
    answers->unanswered = true;
    db->warned = false;
    if (!send_all(&pipeline, statements, count))
        return connection_lost(db, NULL, detail);
    enum err e = read_all(&pipeline, answers->rows, detail);
    if (db->conn != NULL && (PQstatus(db->conn) != CONNECTION_OK || !PQexitPipelineMode(db->conn)))
        connection_lost(db, NULL, NULL);
    answers->unanswered = db->conn == NULL;
    if (db->conn != NULL) {
        prepared_settle(&db->prepared);
        db->in_transaction = PQtransactionStatus(db->conn) != PQTRANS_IDLE;
    }
    return e;
}
