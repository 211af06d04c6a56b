/* What a login by the URL is refused for, in words for an operator. Nothing of the password gets into them.
 */
#include "db/server.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <string.h>

#define STATE_LEN 5

/* Returns the last word of a line such as "FATAL:  28P01" when it has the form of an SQLSTATE, else NULL. */
static const char *line_state(const char *line, size_t len)
{
    if (len <= STATE_LEN || line[len - STATE_LEN - 1] != ' ')
        return NULL;
    const char *state = line + len - STATE_LEN;
    for (size_t i = 0; i < STATE_LEN; i++)
        if (!isupper((unsigned char)state[i]) && !isdigit((unsigned char)state[i]))
            return NULL;
    return state;
}

/* The reason, in words for the operator; NULL when the SQLSTATE is another. */
static const char *refusal(const char *state)
{
    if (strncmp(state, "28P01", STATE_LEN) == 0)
        return "the server refuses the password (SQLSTATE 28P01)";
    if (strncmp(state, "28", 2) == 0)
        return "the server does not admit this user (SQLSTATE 28000: role or pg_hba.conf)";
    if (strncmp(state, "3D000", STATE_LEN) == 0)
        return "the server has no such database (SQLSTATE 3D000): CREATE DATABASE first";
    return NULL;
}

/* The message has a line for each host of the URL. NULL unless all hosts refuse: a host that failed otherwise
 * may become available. */
static const char *common_refusal(const char *message)
{
    const char *common = NULL;
    while (*message != '\0') {
        size_t len = strcspn(message, "\n");
        const char *state = line_state(message, len);
        const char *reason = state != NULL ? refusal(state) : NULL;
        if (reason == NULL)
            return NULL;
        common = reason;
        message += len + (message[len] == '\n');
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
