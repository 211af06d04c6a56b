/* Starts and stops the server. Requests are in request.c, connections in listener.c. */
#include "server_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "address.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "request.h"

enum {
    HEAD_BYTES = 16 << 10, /* a connection's whole memory in the library: head, and the reply's head */
};

static void connection_notify(void *context, struct MHD_Connection *connection, void **closure,
    enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *closure = connections_add(server->connections, fd);
    } else if (*closure != NULL) {
        connections_remove(server->connections, *closure);
    }
}

/* Paths and queries are decoded by target.c; the library leaves broken escapes in place. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

static bool connection_accepted(void *context, int fd, const struct sockaddr *address, socklen_t address_len)
{
    struct http_server *server = context;
    struct MHD_Daemon *worker = server->workers[server->next_worker++ % server->worker_count];
    return MHD_add_connection(worker, fd, address, address_len) == MHD_YES;
}

static struct MHD_Daemon *worker_start(struct http_server *server, unsigned max_connections)
{
    /* Strict, version 0.9.75 sends two heads when it refuses a request without a Host. So head.c refuses it.
     */
    const int strict = MHD_get_version()[0] != '0';
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
    /* The listener enforces the limit. The library may still count a connection that is being closed. */
    struct MHD_Daemon *worker = MHD_start_daemon(flags, 0, NULL, NULL, request_continue, server,
        MHD_OPTION_CONNECTION_LIMIT, 2 * max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEAD_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, strict, MHD_OPTION_URI_LOG_CALLBACK, request_begin,
        server, MHD_OPTION_NOTIFY_COMPLETED, request_end, server, MHD_OPTION_NOTIFY_CONNECTION,
        connection_notify, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_END);
    if (worker == NULL)
        log_fatal(EX_OSERR, "cannot start an HTTP thread", "reason=\"%s\"", strerror(errno));
    return worker;
}

static void name_routes(struct http_server *server)
{
    server->route_labels = NEW_ARRAY(server->route_count, unsigned);
    for (size_t i = 0; i < server->route_count; i++) {
        AUTO_FREE char *name = mem_format("%s %s", server->routes[i].method, server->routes[i].path);
        server->route_labels[i] = metric_label_add(METRIC_ROUTE, name);
    }
}

static struct connection_limits limits_of(const struct http_server_settings *settings)
{
    int idle_s = settings->idle_timeout_s == 0 ? HTTP_IDLE_S : settings->idle_timeout_s;
    int head_s = settings->head_timeout_s == 0 ? HTTP_HEAD_S : settings->head_timeout_s;
    return (struct connection_limits){
        .head_ms = 1000 * (head_s < idle_s ? head_s : idle_s), .phase_ms = 1000 * idle_s};
}

enum err http_server_start(
    const struct http_server_settings *settings, struct http_server **out, struct detail *detail)
{
    uint64_t random[2];
    struct address_sockets sockets;
    enum err e = address_listen(settings->address, &sockets, detail);
    if (e != ERR_OK)
        return e;
    unsigned max_connections =
        settings->max_connections == 0 ? HTTP_MAX_CONNECTIONS : settings->max_connections;
    struct http_server *server = NEW(struct http_server);
    if (getentropy(random, sizeof random) != 0)
        log_fatal(EX_OSERR, "no random bytes", "reason=\"%s\"", strerror(errno));
    server->id_prefix = random[0];
    server->id_base = random[1];
    server->port = sockets.port;
    server->route_count = settings->route_count;
    server->routes = mem_copy(settings->routes, settings->route_count * sizeof *settings->routes);
    name_routes(server);
    server->worker_count = settings->threads == 1 ? 1 : HTTP_THREADS;
    for (unsigned i = 0; i < server->worker_count; i++)
        server->workers[i] = worker_start(server, max_connections);
    const struct connection_limits limits = limits_of(settings);
    server->connections = connections_new(settings->listener, max_connections, &limits);
    server->listener = listener_start(&sockets, server->connections, connection_accepted, server);
    *out = server;
    return ERR_OK;
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

static void wait_for_zero(const atomic_uint *count, int64_t deadline_ms)
{
    while (atomic_load(count) > 0 && clock_ms() < deadline_ms)
        clock_sleep_ms(1);
}

void http_server_drain(struct http_server *server, int grace_ms)
{
    enum server_stage serving = SERVING;
    if (atomic_compare_exchange_strong(&server->stage, &serving, DRAINING))
        listener_refuse(server->listener);
    wait_for_zero(&server->in_progress, clock_ms() + grace_ms);
    atomic_store(&server->stage, CLOSED);
    wait_for_zero(&server->in_handlers, INT64_MAX);
}

void http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    http_server_drain(server, 0);
    /* Stopping a daemon that has a suspended connection aborts the process. */
    wait_for_zero(&server->awaiting_reply, INT64_MAX);
    wait_for_zero(&server->in_progress, clock_ms() + HTTP_FLUSH_MS);
    listener_stop(server->listener);
    for (unsigned i = 0; i < server->worker_count; i++)
        MHD_stop_daemon(server->workers[i]);
    connections_free(server->connections);
    free(server->route_labels);
    free(server->routes);
    free(server);
}
