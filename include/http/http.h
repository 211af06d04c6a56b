/*
 * The HTTP server: routes in, replies out. Only this module knows libmicrohttpd. An endpoint is a plain
 * function from request to reply; it may reply at once or later, from any thread, exactly once.
 */
#ifndef FAIRWAY_HTTP_HTTP_H
#define FAIRWAY_HTTP_HTTP_H

#include "base/bytes.h"
#include "base/err.h"

struct http_server;
struct http_request; /* alive from the handler's call until its reply; then it belongs to the server again */

typedef void (*http_handler)(struct http_request *request, void *context);

struct http_route {
    const char *method; /* "GET" (HEAD is answered by it too), "POST" */
    const char
        *path; /* "/v1/transactions/{hash}": one {parameter} a path at most, which matches one segment */
    size_t body_cap;      /* bytes; more is 413 BODY_TOO_LARGE; 0: no body wanted */
    http_handler handler; /* must not block for long */
    void *context;
};

#define HTTP_MAX_CONNECTIONS 1024 /* the default */

struct http_settings {
    /* "127.0.0.1:8001", "[::1]:0", "localhost:8001" (all its addresses), ":8001" (all of this host); port 0:
     * any free one */
    const char *address;
    const struct http_route *routes; /* copied; their strings and contexts must outlive the server */
    size_t route_count;
    unsigned threads;         /* 0: 2 */
    unsigned max_connections; /* 0: 1,024; more wait in the listen backlog. Each is a descriptor */
    unsigned max_per_address; /* of one client address, for IPv6 of one /64; 0: any number */
    int idle_timeout_s; /* 0: 30; as much for each of: idling, sending a body, taking a reply. Trickling does
                           not prolong it. The handler's own time is not limited. */
    int head_timeout_s; /* 0: 5, or idle_timeout_s if that is less; from accept, or from the first byte */
};

/*
 * When seven eighths of max_connections are open, a new connection ends the one that has been without a
 * request for longest: idle, or with a head that takes longer than 250 ms, a body that takes longer than 1 s,
 * or a reply that its client has not taken for 5 s. A request that a handler has got is never ended; what is
 * ended calls no handler any more. So only requests under way can keep new connections waiting.
 * A connection above max_per_address is closed at once.
 */

/*
 * What it answers by itself, as problem+json: 404 NOT_FOUND (also a trailing slash or an escaped literal),
 * 405 METHOD_NOT_ALLOWED (with Allow), 413, 415 for a POST with a body_cap whose Content-Type is not
 * application/json, 400 for duplicate Content-Length or Content-Length beside Transfer-Encoding, for other
 * heads whose meaning is in doubt, broken percent escapes, and queries that name a parameter twice.
 *
 * A body that a caller announces as too large is answered before it is read, and the connection closed.
 *
 * Every reply carries X-Request-Id (an X-Request-Id that comes in is not trusted and not used) and
 * Cache-Control: no-store. Each request is logged: 5xx as a warning, all else for debugging; one that
 * is answered with ERR_CANCELLED, because its client has left, as status 499.
 *
 * ERR_CONFIG with the reason when the address cannot be had.
 */
MUST_CHECK enum err http_start(
    const struct http_settings *settings, struct http_server **out, struct detail *detail);
unsigned http_port(const struct http_server *server);
/*
 * No new connections; requests under way get up to grace_ms to be answered, and those that still arrive on
 * open connections are served, after which the connection is closed. When it returns, no handler runs or will
 * run; requests that a handler has kept still must be answered. Then http_free.
 */
void http_drain(struct http_server *server, int grace_ms);
/* Waits, without limit, until every request has been answered. Drains first if that was not done. */
void http_free(struct http_server *server);

/* Reading. Strings live as long as the request. */
struct bytes http_body(const struct http_request *request);
const char *http_path_parameter(const struct http_request *request); /* percent-decoded; NULL: none */
const char *http_query(const struct http_request *request, const char *name); /* decoded; NULL: absent */
const char *http_header(
    const struct http_request *request, const char *name); /* NULL: absent; first of several */
const char *http_request_id(
    const struct http_request *request); /* 32 hex digits, generated, unique over replicas */
/*
 * Calls callback(context) once, from another thread, when the client closes its connection before the request
 * has been replied to; at once when it has closed it already. Called by a handler, at most once a request and
 * before any other thread can reply.
 *
 * The callback cancels what the request waits for; it may reply itself. It may run while another thread
 * replies: every http_reply_* then waits until the callback has returned, so the replying thread must hold no
 * lock that the callback takes. What context points to must stay until http_reply_* has returned; after that,
 * the callback does not run any more and the memory may be freed.
 *
 * A request whose client is gone must be replied to all the same (with ERR_CANCELLED). Bytes of a pipelined
 * next request do not matter. A client that has closed only its sending side counts as gone: TCP does not
 * tell it from one that has left, and libmicrohttpd would not send it the reply either.
 */
void http_on_client_gone(struct http_request *request, void (*callback)(void *context), void *context);

/* Replying, from any thread; the request must not be touched afterwards. json: terminated text from malloc,
 * taken over (freed here). */
void http_reply_json(struct http_request *request, int status, char *json);
/* The same for text of another type, such as "text/plain; charset=utf-8". */
void http_reply_text(struct http_request *request, int status, const char *content_type, char *text);
/* problem+json (RFC 9457) with type, title, status, detail, code, requestId. detail is shown for the caller's
   fault only; may be NULL. retry_after_s > 0 adds Retry-After. extra (may be NULL) is a JSON object text
   whose members are added; borrowed. */
void http_reply_problem(struct http_request *request, enum err e, const struct detail *detail,
    int retry_after_s, const char *extra);

#endif
