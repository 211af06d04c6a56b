/* One libpq connection: waiting, errors, the end. No SQL is written here. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "sqlstate.h"

/* libpq never prints the password. But it splits a URL whose password has an unescaped '/' or '@' in the
 * wrong place, and then prints parts of the password as host, port or database. */
static bool url_misleads(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *at = scheme_end == NULL ? NULL : strchr(scheme_end, '@');
    const char *slash = scheme_end == NULL ? NULL : strchr(scheme_end + 3, '/');
    return at != NULL && ((slash != NULL && slash < at) || strchr(at + 1, '@') != NULL);
}

/* The lines of libpq's message, one for each host of the URL, as one line. Those that begin with a tab
 * explain the one before. */
static void join_lines(const char *message, struct detail *out)
{
    static const char prefix[] = "connection to server at ";
    const bool one = strstr(message, "\nconnection") == NULL;
    size_t len = 0;
    out->text[0] = '\0';
    for (size_t line; *message != '\0' && len < sizeof out->text; message += line + (message[line] == '\n')) {
        line = strcspn(message, "\n");
        const size_t skip = !one && text_starts(message, prefix) ? sizeof prefix - 1 : 0;
        if (message[0] != '\t' && line > skip)
            len += (size_t)snprintf(out->text + len, sizeof out->text - len, "%s%.*s", len == 0 ? "" : "; ",
                (int)(line - skip), message + skip);
        if (one)
            return;
    }
}

static enum err libpq_message(struct db *db, struct detail *detail)
{
    if (url_misleads(db->url))
        return detail_set(detail, ERR_DATABASE_UNAVAILABLE,
            "no connection; check that reserved characters in user and password of the database URL are"
            " percent-encoded: it has an '@' in an unusual place");
    struct detail joined;
    join_lines(PQerrorMessage(db->conn), &joined);
    return detail_set(detail, ERR_DATABASE_UNAVAILABLE, "%s", joined.text);
}

enum err connection_lost(struct db *db, const char *why, struct detail *detail)
{
    if (why != NULL)
        detail_set(detail, ERR_DATABASE_UNAVAILABLE, "%s", why);
    else
        libpq_message(db, detail);
    db_disconnect(db);
    return ERR_DATABASE_UNAVAILABLE;
}

enum err connection_error(struct db *db, const PGresult *result, struct detail *detail)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    db->role_refused = text_equal(state, SQLSTATE_PRIVILEGE);
    db->spoiled |= sqlstate_spoils_session(state);
    db->lock_refused = text_equal(state, SQLSTATE_LOCK_TIMEOUT);
    if (state == NULL) /* an error of libpq, such as no memory: the server may have done what it was asked */
        return connection_lost(db, NULL, detail);
    return detail_set(detail, sqlstate_err(state), "%s %s", state, message == NULL ? "" : message);
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
            return true; /* broken: PQgetResult returns the error at once */
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

bool connection_is_open(PGconn *conn)
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
