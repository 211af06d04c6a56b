/* Opens a session and gives it its settings: limits, time zone, plans. No statement runs in a session that
 * has other settings, and none through a pooler. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/watched_file.h"
#include "connection.h"
#include "pipeline.h"

#define OLDEST_SERVER 130000

/* Overrides the defaults of role and database. pg_temp is last so that no temporary object hides a built-in
 * one. */
static const char sql_session[] =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),"
    " pg_catalog.set_config('synchronous_commit', 'on', false), pg_catalog.set_config('jit', 'off', false),"
    " pg_catalog.set_config('timezone', 'UTC', false),"
    " pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
    /* the server's side of the keepalives in attempt.c: locks of a dead host are released in half a minute */
    " pg_catalog.set_config('tcp_keepalives_idle', '10', false),"
    " pg_catalog.set_config('tcp_keepalives_interval', '5', false),"
    " pg_catalog.set_config('tcp_keepalives_count', '3', false),"
    " pg_catalog.set_config('tcp_user_timeout', '15000', false),"
    /* One plan remains for each statement, by its index, whatever the statistics say. It is made once in a
     * session: planning the call of a function costs as much as a cheap function. */
    " pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false),"
    " pg_catalog.set_config('enable_seqscan', 'off', false),"
    " pg_catalog.set_config('enable_bitmapscan', 'off', false),"
    " pg_catalog.set_config('enable_sort', 'off', false),"
    " pg_catalog.set_config('enable_hashjoin', 'off', false),"
    " pg_catalog.set_config('enable_mergejoin', 'off', false),"
    " pg_catalog.set_config('max_parallel_workers_per_gather', '0', false),"
    " pg_catalog.set_config('statement_timeout', $1, false),"
    " pg_catalog.set_config('lock_timeout', $2, false),"
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $3, false),"
    " pg_catalog.set_config('fairway.who', $4, false), pg_catalog.set_config('fairway.why', $5, false)";

/* ---- the URL, before libpq connects to it */

/* ERR_CONFIG: libpq cannot read it. Its own message may quote a part of the password, so it is used only when
 * it names an unknown parameter, and no '@' follows the '?'. */
static enum err check_url(const char *url, struct detail *detail)
{
    static const char unknown[] = "invalid URI query parameter: ";
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    const char *query = strchr(url, '?'), *name = NULL;
    enum err e = ERR_OK;
    if (message != NULL && text_starts(message, unknown) && query != NULL && strchr(query, '@') == NULL)
        name = message + sizeof unknown - 1;
    if (name != NULL)
        e = detail_set(detail, ERR_CONFIG,
            "the database URL has the parameter %.*s, which libpq does not know: remove it%s",
            (int)strcspn(name, "\n"), name,
            text_starts(name, "\"search_path\"") ? " (fairway's tables are always in the schema fairway)"
                                                 : "");
    else if (options == NULL)
        e = detail_set(detail, ERR_CONFIG,
            "the database URL is malformed (reserved characters in user and password must be "
            "percent-encoded)");
    PQfreemem(message);
    PQconninfoFree(options);
    return e;
}

static char *url_file;

void db_set_url_file(char *path)
{
    url_file = path;
}

static void read_url_again(struct db *db)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct watched_file file = {.option = "DATABASE_URL_FILE", .path = url_file, .is_secret = true};
    if (url_file == NULL || watched_file_read(&file, &text, NULL) != ERR_OK)
        return;
    AUTO_FREE char *url = mem_format("%.*s", (int)text.len, (const char *)text.data);
    url[strcspn(url, "\n")] = '\0';
    if (url[0] == '\0' || check_url(url, NULL) != ERR_OK)
        return;
    free(db->url);
    db->url = mem_copy_text(url);
}

/* ---- the session */

static void receive_notice(void *context, const PGresult *result)
{
    struct db *db = context;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    db->warned |= severity != NULL && strcmp(severity, "WARNING") == 0;
    log_debug("database notice", "message=\"%s\"", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

/* Waits for the running attempt to connect, or for a new one. */
static enum err connect(struct db *db, struct detail *detail)
{
    if (db->attempt == NULL)
        db->attempt = attempt_start(db->url, db->name, db->connect_timeout_s);
    if (db->attempt == NULL)
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "cannot create a thread to connect");
    if (!attempt_wait(db->attempt, connection_deadline_ms(db, DB_CONNECT_MAX_MS), &db->conn))
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "no connection before the deadline");
    db->attempt = NULL;
    return db->conn != NULL && PQstatus(db->conn) == CONNECTION_OK ? ERR_OK
                                                                   : connection_lost(db, NULL, detail);
}

static const char sql_backend[] = "SELECT pg_catalog.pg_backend_pid()";

/* A pooler tells its clients a number of its own instead of the server process's. This is asked before a
 * statement is prepared: another client of the pooler may have prepared one of that name. */
static enum err refuse_pooler(struct db *db, struct detail *detail)
{
    const int64_t deadline_ms = connection_deadline_ms(db, db->statement_timeout_ms);
    int backend = 0;
    if (!PQsendQuery(db->conn, sql_backend))
        return connection_lost(db, NULL, detail);
    for (PGresult *result;; PQclear(result)) {
        if (!connection_wait(db->conn, deadline_ms))
            return connection_lost(db, "the server does not respond", detail);
        result = PQgetResult(db->conn);
        if (result == NULL)
            break;
        if (PQresultStatus(result) == PGRES_TUPLES_OK)
            backend = atoi(PQgetvalue(result, 0, 0));
    }
    if (backend == 0)
        return connection_lost(db, NULL, detail);
    if (backend == PQbackendPID(db->conn))
        return ERR_OK;
    return detail_set(detail, ERR_CONFIG,
        "DATABASE_URL leads through a connection pooler (PgBouncer?): set it to the address of PostgreSQL"
        " itself; fairway opens few sessions, and they need prepared statements, LISTEN and session locks");
}

static enum err set_up_session(struct db *db, struct detail *detail)
{
    const struct db_statement statements[] = {
        {sql_session, db->session_params, ARRAY_LEN(db->session_params)}, DB_SQL0(db->listen)};
    return pipeline_run(db, statements, db->listen != NULL ? 2 : 1, &(struct pipeline_results){0}, detail);
}

static enum err open_session(struct db *db, struct detail *detail)
{
    read_url_again(db);
    enum err e = check_url(db->url, detail);
    if (e != ERR_OK)
        return e;
    e = connect(db, detail);
    if (e != ERR_OK)
        return e;
    int version = PQserverVersion(db->conn);
    if (version < OLDEST_SERVER) {
        db_disconnect(db);
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "PostgreSQL %d is too old: 13 or later is needed",
            version / 10000);
    }
    const char *encoding = PQparameterStatus(db->conn, "server_encoding");
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0) {
        e = detail_set(detail, ERR_CONFIG,
            "the database's encoding is %.20s: make one with ENCODING 'UTF8' TEMPLATE template0. Another "
            "cannot "
            "store every text that clients send",
            encoding == NULL ? "not known" : encoding);
        db_disconnect(db);
        return e;
    }
    PQsetNoticeReceiver(db->conn, receive_notice, db);
    if (PQsetnonblocking(db->conn, 1) != 0)
        return connection_lost(db, NULL, detail);
    db->reopened = true;
    e = refuse_pooler(db, detail);
    if (e == ERR_OK)
        e = set_up_session(db, detail);
    if (e != ERR_OK)
        db_disconnect(db);
    return e;
}

bool db_is_open(const struct db *db)
{
    return db->conn != NULL && !db->spoiled && connection_is_open(db->conn);
}

enum err db_connect(struct db *db, struct detail *detail)
{
    if (db->in_transaction)
        return db->conn != NULL ? ERR_OK
                                : detail_set(detail, ERR_DATABASE_UNAVAILABLE,
                                      "the connection was lost in this transaction");
    if (db->conn != NULL && !db_is_open(db))
        db_disconnect(db);
    return db->conn != NULL ? ERR_OK : open_session(db, detail);
}

enum err session_run_script(struct db *db, const char *text, int timeout_ms, struct detail *detail)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    enum err e = db_connect(db, detail);
    if (e != ERR_OK)
        return e;
    if (!PQsendQuery(db->conn, text))
        return connection_lost(db, NULL, detail);
    for (;;) {
        if (!connection_wait(db->conn, deadline_ms))
            return connection_lost(db, "the server does not respond", detail);
        PGresult *result = PQgetResult(db->conn);
        if (result == NULL)
            break;
        if (PQresultStatus(result) == PGRES_FATAL_ERROR && e == ERR_OK)
            e = connection_error(db, result, detail);
        PQclear(result);
    }
    if (PQstatus(db->conn) != CONNECTION_OK)
        return connection_lost(db, NULL, e == ERR_OK ? detail : NULL);
    db->in_transaction = PQtransactionStatus(db->conn) != PQTRANS_IDLE;
    return e;
}
