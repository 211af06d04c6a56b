#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline.h"
#include "sqlstate.h"
#include "url.h"

#define OLDEST_SERVER 130000
/* libpq ends an attempt before this, after connect_timeout for each host; a resolver may be slower. */
#define CONNECT_MAX_MS 600000

/* A role or database may have any defaults; a session of ours has these. pg_temp last, so that nobody's
 * temporary object stands before a built-in one. */
static const char sql_session[] =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),"
    " pg_catalog.set_config('synchronous_commit', 'on', false), pg_catalog.set_config('jit', 'off', false),"
    " pg_catalog.set_config('timezone', 'UTC', false),"
    " pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
    /* the server's side of what start() asks of ours: a dead host's locks are free within half a minute */
    " pg_catalog.set_config('tcp_keepalives_idle', '10', false),"
    " pg_catalog.set_config('tcp_keepalives_interval', '5', false),"
    " pg_catalog.set_config('tcp_keepalives_count', '3', false),"
    " pg_catalog.set_config('tcp_user_timeout', '15000', false),"
    /* plans from the tables as they are now: one made when they were empty would scan them for ever */
    " pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', false),"
    /* the pool is small and always in memory: a look-up costs no more than a step of a scan */
    " pg_catalog.set_config('random_page_cost', '1.1', false), "
    "pg_catalog.set_config('statement_timeout', $1, false),"
    " pg_catalog.set_config('lock_timeout', $2, false),"
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $3, false)";

/* PQsetNoticeReceiver's */
static void note(void *context, const PGresult *result)
{
    struct db *db = context;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    db->warned |= severity != NULL && strcmp(severity, "WARNING") == 0;
    log_debug("database notice", "message=\"%s\"", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

/* libpq never prints the password, but splits a URL whose password holds an unescaped '/' or '@' in the wrong
 * place, and then prints parts of the password as host, port or database. */
static bool url_misleads(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *at = scheme_end == NULL ? NULL : strchr(scheme_end, '@');
    const char *slash = scheme_end == NULL ? NULL : strchr(scheme_end + 3, '/');
    return at != NULL && ((slash != NULL && slash < at) || strchr(at + 1, '@') != NULL);
}

/* The first line of libpq's words. */
static enum err connection_words(struct db *db, struct detail *detail)
{
    if (url_misleads(db->url))
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE,
            "no connection; the database URL has an '@' in an odd place: are reserved characters in user and"
            " password percent-encoded?");
    const char *words = PQerrorMessage(db->conn);
    return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "%.*s", (int)strcspn(words, "\n"), words);
}

enum err connection_lost(struct db *db, const char *why, struct detail *detail)
{
    if (why != NULL)
        detail_set(detail, ERR_DATABASE_UNAVAILABLE, "%s", why);
    else
        connection_words(db, detail);
    db_disconnect(db);
    return ERR_DATABASE_UNAVAILABLE;
}

enum err connection_refusal(struct db *db, const PGresult *result, struct detail *detail)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    db->spoiled |= sqlstate_spoils_session(state);
    db->lock_refused = sqlstate_is_lock_timeout(state);
    if (state == NULL)
        return connection_words(db, detail);
    return detail_set(detail, sqlstate_err(state), "%s %s", state, words == NULL ? "" : words);
}

void db_disconnect(struct db *db)
{
    PQfinish(db->conn);
    db->conn = NULL;
    db->spoiled = false;
    prepared_forget(&db->prepared);
}

int64_t connection_deadline_ms(const struct db *db, int64_t timeout_ms)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    return db->deadline_ms != 0 && db->deadline_ms < deadline_ms ? db->deadline_ms : deadline_ms;
}

bool connection_wait(PGconn *conn, int64_t deadline_ms)
{
    while (PQisBusy(conn)) {
        struct pollfd socket = {.fd = PQsocket(conn), .events = POLLIN};
        if (socket.fd < 0)
            return true; /* broken: PQgetResult says so at once */
        if (PQflush(conn) == 1)
            socket.events |= POLLOUT;
        int ready = poll(&socket, 1, clock_left_ms(deadline_ms));
        if (ready == 0)
            return false;
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && (socket.revents & ~POLLOUT) != 0 && !PQconsumeInput(conn))
            return true;
    }
    return true;
}

bool connection_open(PGconn *conn)
{
    if (PQstatus(conn) != CONNECTION_OK)
        return false;
    struct pollfd socket = {.fd = PQsocket(conn), .events = POLLIN | POLLRDHUP};
    if (poll(&socket, 1, 0) == 0)
        return true;
    if ((socket.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0)
        return false;
    return PQconsumeInput(conn) && PQstatus(conn) == CONNECTION_OK;
}

/* Listed after dbname so that they override the URL: no URL may take the bounds away. */
static struct attempt *start(const struct db *db)
{
    char seconds[12];
    snprintf(seconds, sizeof seconds, "%d", db->connect_timeout_s);
    const char *const parameters[][2] = {
        {"dbname", db->url},
        {"application_name", db->name},
        {"connect_timeout", seconds},
        {"client_encoding", "UTF8"},
        {"target_session_attrs", "read-write"},
        {"keepalives", "1"},
        {"keepalives_idle", "10"},
        {"keepalives_interval", "5"},
        {"keepalives_count", "3"},
        {"tcp_user_timeout", "15000"},
    };
    const char *names[ARRAY_LEN(parameters)], *values[ARRAY_LEN(parameters)];
    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        names[i] = parameters[i][0];
        values[i] = parameters[i][1];
    }
    return attempt_start(names, values, ARRAY_LEN(parameters));
}

/* Waits for an attempt, a new one or the one that an earlier call did not wait for to its end. */
static enum err connect(struct db *db, struct detail *detail)
{
    if (db->attempt == NULL)
        db->attempt = start(db);
    if (db->attempt == NULL)
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "no thread can be made to connect on");
    if (!attempt_wait(db->attempt, connection_deadline_ms(db, CONNECT_MAX_MS), &db->conn))
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "the server has not accepted a connection yet");
    db->attempt = NULL;
    return db->conn != NULL && PQstatus(db->conn) == CONNECTION_OK ? ERR_OK
                                                                   : connection_lost(db, NULL, detail);
}

static enum err set_up_session(struct db *db, struct detail *detail)
{
    size_t count = 1 + db->listen_count;
    AUTO_FREE struct db_statement *statements = NEW_ARRAY(count, struct db_statement);
    statements[0] = (struct db_statement){sql_session, db->limit_params, DB_LIMITS};
    for (size_t i = 0; i < db->listen_count; i++)
        statements[1 + i] = DB_SQL0(db->listens[i]);
    return pipeline_run(db, statements, count, &(struct pipeline_answers){0}, detail);
}

static enum err reopen(struct db *db, struct detail *detail)
{
    enum err e = url_check(db->url, detail);
    if (e != ERR_OK)
        return e;
    e = connect(db, detail);
    if (e != ERR_OK)
        return e;
    int version = PQserverVersion(db->conn);
    if (version < OLDEST_SERVER) {
        db_disconnect(db);
        return detail_set(
            detail, ERR_DATABASE_UNAVAILABLE, "PostgreSQL %d is too old, 13 is the oldest", version / 10000);
    }
    PQsetNoticeReceiver(db->conn, note, db);
    if (PQsetnonblocking(db->conn, 1) != 0)
        return connection_lost(db, NULL, detail);
    db->reopened = true;
    if (db->kind == DB_DIRECT)
        e = set_up_session(db, detail);
    if (e != ERR_OK)
        db_disconnect(db);
    return e;
}

enum err connection_ready(struct db *db, struct detail *detail)
{
    if (db->in_transaction)
        return db->conn != NULL ? ERR_OK
                                : detail_set(detail, ERR_DATABASE_UNAVAILABLE,
                                      "the connection was lost in this transaction");
    if (db->conn != NULL && (db->spoiled || !connection_open(db->conn)))
        db_disconnect(db);
    return db->conn != NULL ? ERR_OK : reopen(db, detail);
}
