/* Questions about the server: whether it can write, and what a login by the URL is refused for, in words for
 * an operator. No table of fairway's is read, and nothing of the password gets into the words. */
#include "db/server.h"

#include <libpq-fe.h>
#include <string.h>

#include "base/mem.h"

/* For this round trip only, which is one transaction. '' is the tablespace of the database. */
static const char sql_small_memory[] = "SELECT pg_catalog.set_config('work_mem', '64kB', true),"
                                       " pg_catalog.set_config('temp_tablespaces', '', true)";

/* A function's rows beyond work_mem go to a temporary file. */
static const char sql_spill[] = "SELECT count(*) FROM generate_series(1, 5000)";

enum err server_check_disk(struct db *db, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL0(sql_small_memory), DB_SQL0(sql_spill)};
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}

static const struct {
    const char *state, *reason; /* of the SQLSTATE, in words for the operator */
} refusals[] = {
    {"28P01", "the server refuses the password (SQLSTATE 28P01)"},
    {"28000", "the server does not admit this user (SQLSTATE 28000: role or pg_hba.conf)"},
    {"3D000", "the server has no such database (SQLSTATE 3D000): CREATE DATABASE first"},
};

/* Of a line such as "FATAL:  28P01"; NULL: it does not end with such a state. */
static const char *refusal(const char *line, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const size_t state = strlen(refusals[i].state);
        if (len > state && line[len - state - 1] == ' ' &&
            memcmp(line + len - state, refusals[i].state, state) == 0)
            return refusals[i].reason;
    }
    return NULL;
}

/* The message has a line for each host of the URL. NULL unless all hosts refuse: a host that failed otherwise
 * may become available. */
static const char *common_refusal(const char *message)
{
    const char *common = NULL;
    for (size_t len; *message != '\0'; message += len + (message[len] == '\n')) {
        len = strcspn(message, "\n");
        if ((common = refusal(message, len)) == NULL)
            return NULL;
    }
    return common;
}

enum err server_check_login(const char *url, struct detail *detail)
{
    const char *const names[] = {"dbname", "connect_timeout", "application_name", NULL};
    const char *const values[] = {url, "5", "fairway start", NULL};
    PGconn *conn = PQconnectdbParams(names, values, 1);
    const char *reason = NULL;
    if (conn != NULL && PQstatus(conn) != CONNECTION_OK) {
        PQsetErrorVerbosity(conn, PQERRORS_SQLSTATE); /* PQreset keeps it and connects again */
        PQreset(conn);
        if (PQstatus(conn) != CONNECTION_OK)
            reason = common_refusal(PQerrorMessage(conn));
    }
    PQfinish(conn);
    return reason == NULL ? ERR_OK : detail_set(detail, ERR_CONFIG, "%s", reason);
}
