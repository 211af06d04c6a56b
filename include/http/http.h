/*
 * What an endpoint does with a request. An endpoint is a plain function from request to reply; it may reply
 * at once or later, from any thread, exactly once. Only this module knows libmicrohttpd.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#define HTTP_REQUEST_ID_SIZE 65

/*
 * A request, of which endpoints read these members. It belongs to the handler from its call until
 * http_reply_*; after that it must not be touched.
 */
struct http_request {
    const char *target;      /* as sent: path and query, neither split nor decoded. It begins with '/' */
    char method[16];         /* a longer one is cut off, and has no route */
    const char *parameter;   /* the path's last segment, as sent; NULL: the route has none */
    uint64_t content_length; /* 0 without one */
    struct buf body; /* a handler that has read it may free it: it takes memory while the request waits */
    /* The X-Request-Id, if that is 1 to 64 characters of A-Z a-z 0-9 . _ -; else 32 hexadecimal digits,
     * generated, unique over replicas. For logs: a client may use one id for many requests. */
    char id[HTTP_REQUEST_ID_SIZE];
    /* The endpoint's, set by admit or the handler: memory that stays with the request (NULL: none), and what
     * is called with it when the request has ended, after its reply was sent or its client has left. */
    void *kept;
    void (*release)(void *kept);
};

typedef void (*http_handler)(struct http_request *request, void *context);

/* What http_reply_problem takes, for a request that is refused before its body is read. */
struct http_refusal {
    struct detail detail;
    int retry_after_s;
    char extra[64]; /* empty: no more members */
};

struct http_route {
    const char *method;   /* "GET" (also serves HEAD), "POST" */
    const char *path;     /* "/v1/transactions/{hash}": a {parameter} is the last segment, whatever that is */
    size_t body_cap;      /* bytes; a larger body is refused with 413 BODY_TOO_LARGE; 0: no body */
    http_handler handler; /* runs on a thread of the server and must not block for long */
    void *context;
    /* Judges the head before any of the body is read: ERR_OK, or the problem with which the request is
     * refused. It reads the request, may keep memory with it, and does not reply. NULL: every head is fine.
     */
    enum err (*admit)(struct http_request *request, void *context, struct http_refusal *refusal);
};

/* ---- reading; strings live as long as the request */

const char *http_query(const struct http_request *request, const char *name); /* decoded; NULL: absent */
const char *http_query_unread(
    const struct http_request *request); /* a name that http_query was not asked for */
/* NULL: absent. The first of several; those that http/server.h lists occur at most once. */
const char *http_header(const struct http_request *request, const char *name);

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
 * A request whose client is gone must still be replied to (with ERR_CANCELLED). Bytes of a pipelined
 * next request do not matter. A client that has closed only its sending side counts as gone: TCP does not
 * tell it from one that has left, and libmicrohttpd would not send it the reply either.
 */
void http_on_client_gone(struct http_request *request, void (*callback)(void *context), void *context);

/* Names the client that has sent the request, for metrics and the log. Called by admit. */
void http_set_client(struct http_request *request, const char *name);
/* Names the transaction that the request is about, by its hash in hexadecimal, for the log. Before the reply.
 */
void http_set_transaction(struct http_request *request, const char *hash);

/* ---- replying, from any thread */

/* json: terminated text from malloc, freed here. */
void http_reply_json(struct http_request *request, int status, char *json);
/* The same for text of another type, such as "text/plain; charset=utf-8". */
void http_reply_text(struct http_request *request, int status, const char *content_type, char *text);
/*
 * problem+json (RFC 9457) with type, title, status, detail, code and requestId. detail is sent with a 4xx
 * only; may be NULL. retry_after_s > 0 adds Retry-After. extra (may be NULL) is the text of a JSON object
 * whose members are added; borrowed.
 */
void http_reply_problem(struct http_request *request, enum err e, const struct detail *detail,
    int retry_after_s, const char *extra);
