/* The states of one request. Nothing here waits: a request that has to is suspended. */
#include "request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/rate_limit.h"
#include "http/server.h"
#include "reply.h"

/* The only function that changes a phase. Returns the phase before. Does nothing when the phase cannot be
 * followed by `to`. */
static enum request_phase move(struct request *request, enum request_phase to)
{
    static const unsigned from_any_of[] = {
        [HANDLED] = 1u << ARRIVING,
        [SUSPENDED] = 1u << HANDLED,
        [REPLIED] = 1u << ARRIVING | 1u << HANDLED | 1u << SUSPENDED,
        [QUEUED] = 1u << REPLIED,
    };
    enum request_phase from = atomic_load(&request->phase);
    while ((from_any_of[to] >> from & 1u) != 0 && !atomic_compare_exchange_weak(&request->phase, &from, to))
        ;
    return from;
}

void request_reply(struct request *request, int status, struct MHD_Response *response)
{
    struct http_server *server = request->server;
    struct MHD_Connection *connection = request->connection;
    INVARIANT(atomic_load(&request->phase) < REPLIED);
    if (request->watched)
        connection_unwatch(request->peer);
    request->status = status;
    request->response = response;
    enum request_phase before = move(request, REPLIED);
    INVARIANT(before < REPLIED); /* no other thread has replied meanwhile */
    /* While it is suspended, no other thread uses the connection. */
    if (before == SUSPENDED)
        MHD_resume_connection(connection);
    if (before != ARRIVING)
        atomic_fetch_sub(&server->awaiting_reply, 1);
}

static enum MHD_Result queue(struct request *request)
{
    if (request->closes || atomic_load(&request->server->stage) != SERVING)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONNECTION, "close");
    INVARIANT(move(request, QUEUED) == REPLIED && request->response != NULL);
    if (!connection_enter(request->peer, CONNECTION_REPLY))
        return MHD_NO;
    return MHD_queue_response(request->connection, (unsigned)request->status, request->response);
}

/* A refusal by the server itself; no handler has seen the request. */
static enum MHD_Result refuse(struct request *request, enum err e)
{
    const struct http_refusal *refusal = &request->refusal;
    request->error = e;
    request_reply(request, err_status(e),
        reply_problem(request->http.id, e, &refusal->detail,
            e == ERR_SHUTTING_DOWN ? 1 : refusal->retry_after_s,
            e == ERR_METHOD_NOT_ALLOWED ? request->match.allow : NULL,
            refusal->extra[0] == '\0' ? NULL : refusal->extra));
    return queue(request);
}

static enum MHD_Result run_handler(struct request *request)
{
    struct http_server *server = request->server;
    const struct http_route *route = request->match.route;
    if (!connection_enter(request->peer, CONNECTION_HANDLER))
        return MHD_NO;
    /* Counted before the stage is read: either we see that the server is closed, or http_server_drain waits
     * for us. */
    atomic_fetch_add(&server->in_handlers, 1);
    if (atomic_load(&server->stage) == CLOSED) {
        atomic_fetch_sub(&server->in_handlers, 1);
        return refuse(request, ERR_SHUTTING_DOWN);
    }
    atomic_fetch_add(&server->awaiting_reply, 1);
    INVARIANT(move(request, HANDLED) == ARRIVING);
    route->handler(&request->http, route->context);
    atomic_fetch_sub(&server->in_handlers, 1);
    if (atomic_load(&request->phase) == REPLIED)
        return queue(request);
    /*
     * Suspend first, then change the phase: a thread that finds the phase SUSPENDED may resume at once. A
     * thread that replied before that does not resume, so we do, and the library calls request_continue
     * again.
     */
    MHD_suspend_connection(request->connection);
    if (move(request, SUSPENDED) == REPLIED)
        MHD_resume_connection(request->connection);
    return MHD_YES;
}

/*
 * The caller's X-Request-Id, so that its log and ours have the same id. Anything that is not plainly an id is
 * ignored: it would get into log lines.
 */
static void take_over_id(struct request *request)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *id = http_header(&request->http, "X-Request-Id");
    const size_t len = id == NULL ? 0 : strlen(id);
    if (len > 0 && len < sizeof request->http.id && strspn(id, allowed) == len)
        memcpy(request->http.id, id, len + 1);
}

/* Has the route judge the head. No route's function is called after http_server_drain. */
static enum err admit(struct request *request)
{
    struct http_server *server = request->server;
    const struct http_route *route = request->match.route;
    enum err e = ERR_SHUTTING_DOWN;
    if (route->admit == NULL)
        return ERR_OK;
    atomic_fetch_add(&server->in_handlers, 1);
    if (atomic_load(&server->stage) != CLOSED)
        e = route->admit(&request->http, route->context, &request->refusal);
    atomic_fetch_sub(&server->in_handlers, 1);
    return e;
}

/* Checks the head. Returns true when the request must be refused before its body is read. */
static bool check_head(struct request *request, const char *method, const char *version)
{
    struct detail *detail = &request->refusal.detail;
    struct head head;
    const struct head_line line = {method, request->target_at, strlen(request->target.raw), version};
    enum err e = head_read(request->connection, &line, &head, detail);
    if (e != ERR_OK) {
        request->refused = e;
        request->closes = true;
        return true;
    }
    e = request->refused;
    request->http.content_length = head.length;
    if (e == ERR_OK)
        e = route_find(request->server->routes, request->server->route_count, method, request->target.path,
            &request->match);
    request->http.parameter = request->match.parameter;
    const struct http_route *route = request->match.route;
    if (e == ERR_OK && head.length > route->body_cap)
        e = ERR_BODY_TOO_LARGE;
    else if (e == ERR_OK && route->body_cap > 0 && strcmp(method, "POST") == 0 && !head.json)
        e = ERR_UNSUPPORTED_MEDIA_TYPE;
    else if (e == ERR_OK)
        e = admit(request);
    request->refused = e;
    return e != ERR_OK && head.length > 0;
}

enum MHD_Result request_continue(void *context, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *data, size_t *data_len, void **closure)
{
    (void)context, (void)connection, (void)path;
    struct request *request = *closure;
    const enum request_phase phase = atomic_load(&request->phase);
    if (phase == REPLIED)
        return queue(request); /* it was suspended and has been resumed */
    if (phase == QUEUED)
        return MHD_NO; /* the library is being stopped and has dropped the reply: close */
    if (!request->head_seen) {
        request->head_seen = true;
        snprintf(request->http.method, sizeof request->http.method, "%s", method);
        if (!connection_enter(request->peer, CONNECTION_BODY))
            return MHD_NO;
        take_over_id(request);
        if (!check_head(request, method, version))
            return MHD_YES;
        request->peer->linger =
            true; /* the library closes the connection after a reply that comes before the body */
        return refuse(request, request->refused);
    }
    if (*data_len > 0) {
        /* In all no more than Content-Length, which is within the route's cap. */
        buf_add(&request->http.body, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    if (request->refused != ERR_OK)
        return refuse(request, request->refused);
    return run_handler(request);
}

/*
 * The library would now split the query too. Each parameter takes 56 bytes of the memory that also holds the
 * head, and when that is used up, versions before 1.0 close the connection without a reply. We have split the
 * query, so the library finds an empty one. The text is in its read buffer and may be written to.
 */
static void hide_query(const char *target)
{
    char *query = strchr(target, '?');
    if (query != NULL && query[1] != '\0')
        query[1] = '\0';
}

void *request_begin(void *context, const char *target, struct MHD_Connection *connection)
{
    struct http_server *server = context;
    struct request *request = NEW(struct request);
    uint64_t number = atomic_fetch_add(&server->id_count, 1) + server->id_base;
    snprintf(
        request->http.id, sizeof request->http.id, "%016" PRIx64 "%016" PRIx64, server->id_prefix, number);
    request->server = server;
    request->connection = connection;
    request->began_us = clock_us();
    request->client = METRIC_NO_CLIENT;
    request->peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    request->target_at = target;
    request->refused = target_parse(&request->target, target == NULL ? "" : target, &request->refusal.detail);
    request->http.target = request->target.raw;
    if (target != NULL)
        hide_query(target);
    atomic_fetch_add(&server->in_progress, 1);
    (void)connection_enter(request->peer, CONNECTION_HEAD); /* checked when the head is complete */
    return request;
}

/* ---- the end */

/* Whoever can connect can cause these lines, so they must not fill a disk. */
static struct rate_limit limits[ERR_COUNT];

/* Our failures are warnings. A refusal is logged at info, so that its request id can be found. What a probe
 * reports is no failure of the request. */
static enum log_level level_of(const struct request *request)
{
    if (request->error == ERR_CANCELLED || request->error == ERR_OK)
        return LOG_DEBUG;
    return request->status >= 500 ? LOG_WARN : LOG_INFO;
}

static void count_request(const struct request *request)
{
    const struct http_server *server = request->server;
    const struct http_route *found = request->match.route;
    const unsigned route = found == NULL ? METRIC_OTHER : server->route_labels[found - server->routes];
    if (request->status == 0)
        return; /* it was not replied to */
    metric_add(METRIC_REQUESTS, route, request->error, 1);
    metric_add(METRIC_CLIENT_REQUESTS, request->client, request->error, 1);
    metric_observe(METRIC_REQUEST_SECONDS, route, 0, clock_us() - request->began_us);
}

/* Logs the request: never its body, its query or a header. sent: the reply was sent whole. */
static void request_log(const struct request *request, bool sent)
{
    const bool client_left = request->error == ERR_CANCELLED;
    const enum log_level level = level_of(request);
    unsigned not_logged = 0;
    if (level > LOG_DEBUG && !rate_limit_line(&limits[request->error], &not_logged))
        return;
    /* 499: what other servers log for a client that left before the reply. It is never sent. */
    log_line(level, "request",
        "method=\"%s\" path=\"%.200s\" status=%d code=%s sent=%d client_left=%d ms=%.3f request_id=%s "
        "client=%s hash=%s not_logged=%u",
        request->http.method, request->target.path, client_left ? 499 : request->status,
        err_code(request->error), sent, client_left, (double)(clock_us() - request->began_us) / 1000,
        request->http.id, request->client_name, request->transaction, not_logged);
}

void request_end(
    void *context, struct MHD_Connection *connection, void **closure, enum MHD_RequestTerminationCode how)
{
    (void)connection;
    struct http_server *server = context;
    struct request *request = *closure;
    if (request == NULL)
        return;
    const enum request_phase phase = atomic_load(&request->phase);
    INVARIANT(phase != HANDLED && phase != SUSPENDED); /* then it is the replying thread's */
    count_request(request);
    request_log(request, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    (void)connection_enter(request->peer, CONNECTION_IDLE); /* or it is closed */
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    target_wipe(&request->target);
    buf_free(&request->http.body);
    if (request->http.release != NULL)
        request->http.release(request->http.kept);
    free(request);
    *closure = NULL;
    atomic_fetch_sub(&server->in_progress, 1);
}
