/* LISTEN, and waiting for notifications. What one means, its caller knows. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "connection.h"
#include "pipeline.h"

enum err db_listen(struct db *db, const char *channel, struct detail *detail)
{
    enum err e = db_connect(db, detail);
    INVARIANT(db->listen == NULL);
    db->listen = mem_format("LISTEN %s", channel);
    return e != ERR_OK ? e /* the next session listens */
                       : pipeline_run(db, &DB_SQL0(db->listen), 1, &(struct pipeline_results){0}, detail);
}

static bool drain(PGconn *conn)
{
    bool any = false;
    for (PGnotify *notification; (notification = PQnotifies(conn)) != NULL; PQfreemem(notification))
        any = true;
    return any;
}

/* Waits for the deadline or either descriptor. False when only the database's is readable. */
static bool wait_is_over(struct db *db, int64_t deadline_ms, int wake_fd)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = PQsocket(db->conn), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
        int ready = poll(fds, ARRAY_LEN(fds), clock_left_ms(deadline_ms));
        if (ready == 0 || (ready > 0 && fds[0].revents == 0))
            return true;
        if (ready > 0 || errno != EINTR)
            return false;
    }
}

enum err db_wait_notify(struct db *db, int timeout_ms, int wake_fd, bool *notified, struct detail *detail)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    *notified = false;
    enum err e = db_connect(db, detail);
    if (e != ERR_OK)
        return e;
    /* Notifications that were sent while no session listened are lost, so a new session counts as one. */
    *notified = drain(db->conn) || db->reopened;
    db->reopened = false;
    while (!*notified && !wait_is_over(db, deadline_ms, wake_fd)) {
        if (!PQconsumeInput(db->conn) || PQstatus(db->conn) != CONNECTION_OK)
            return connection_lost(db, NULL, detail);
        *notified = drain(db->conn);
    }
    return ERR_OK;
}
