/* The HTTP server: listens, calls the handlers of its routes and sends their replies. */
#pragma once

#include "http/http.h"

struct http_server;

#define HTTP_MAX_CONNECTIONS 1024 /* the default */

struct http_server_settings {
    /* "127.0.0.1:8001", "[::1]:0", "localhost:8001" (all its addresses); port 0: any free port */
    const char *address;
    unsigned listener;               /* for metrics: METRIC_API or METRIC_ADMIN */
    const struct http_route *routes; /* copied; their strings and contexts must outlive the server */
    size_t route_count;
    unsigned threads; /* 1, or 0: two */
    unsigned
        max_connections; /* 0: HTTP_MAX_CONNECTIONS; more wait in the listen backlog. A descriptor each */
    int idle_timeout_s;  /* 0: 30; for each of: idling, sending a body, taking a reply. Sending or reading
                            slowly does not prolong it. The time of the handler is not limited. */
    int head_timeout_s;  /* 0: 5, or idle_timeout_s if that is less; from accept, or its first line */
};

/*
 * Starts the server. ERR_CONFIG with the reason when it cannot listen on the address.
 *
 * Limits: while more than seven eighths of max_connections are open, those are closed that have been without
 * a request for longest: idle, or with a head that takes longer than 250 ms, a body that takes longer than
 * 1 s, or a reply that its client has not taken for 5 s. A connection whose request a handler has got is
 * never closed, so only requests in progress can make new connections wait. No handler is called for a
 * connection that the server closes.
 *
 * The server itself refuses, as problem+json: 404 NOT_FOUND (also a trailing slash or an escaped literal),
 * 405 METHOD_NOT_ALLOWED (with Allow), 413, 415 for a POST with a body_cap whose Content-Type is not
 * application/json, 400 for a request target that is not an absolute path, and for queries that have a broken
 * percent escape, a parameter twice, or too many. Also 400, and the connection closed, for heads with more
 * than one meaning: a NUL anywhere; Content-Length with Transfer-Encoding; two of Authorization,
 * Content-Length, Content-Type, Expect, Host, Idempotency-Key, Transfer-Encoding, X-Request-Id. 411, and the
 * connection closed, for a Transfer-Encoding. A request that is refused by its head, also by its route's
 * admit, is replied to before its body is read; if it has one, the connection is closed.
 *
 * Every reply carries X-Request-Id (see struct http_request) and Cache-Control: no-store. Each request is
 * logged when it ends, with the code of its problem: 5xx at level warn, 4xx at info, all else at debug; a
 * request whose client left (ERR_CANCELLED) at debug with status 499. At most 20 lines in ten seconds have
 * the same code. Each is counted by route, code and client, also when it is not logged (base/metric.h).
 */
MUST_CHECK enum err http_server_start(
    const struct http_server_settings *settings, struct http_server **out, struct detail *detail);
unsigned http_server_port(const struct http_server *server);
/*
 * Accepts no new connections. Requests in progress get up to grace_ms to be replied to; those that still
 * arrive on open connections are served, and their connections closed. When it returns, no handler runs or
 * will run. Requests that a handler has kept must still be replied to. Then call http_server_free.
 */
void http_server_drain(struct http_server *server, int grace_ms);
/* Waits, without limit, until every request has been replied to. Drains first if that was not done. */
void http_server_free(struct http_server *server);
