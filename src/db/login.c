/* What a login by the URL is refused for, in words for an operator. Nothing of the password gets into them.
 */
#include "db/server.h"

#include <libpq-fe.h>
#include <string.h>

#include "base/mem.h"

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
