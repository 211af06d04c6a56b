/* What endpoints see of a request. Nothing of libmicrohttpd is passed on. */
#include "http/http.h"

#include <stdio.h>

#include "base/metric.h"
#include "reply.h"
#include "request.h"

static struct request *of(const struct http_request *http)
{
    return (struct request *)http;
}

const char *http_query(const struct http_request *http, const char *name)
{
    return target_query(&of(http)->target, name);
}

const char *http_query_unread(const struct http_request *http)
{
    const struct target *target = &of(http)->target;
    for (size_t i = 0; i < target->query_count; i++)
        if (!target->query[i].read)
            return target->query[i].name;
    return NULL;
}

const char *http_header(const struct http_request *http, const char *name)
{
    return MHD_lookup_connection_value(of(http)->connection, MHD_HEADER_KIND, name);
}

void http_set_client(struct http_request *http, const char *name)
{
    struct request *request = of(http);
    request->client = metric_label_find(METRIC_CLIENT, name);
    snprintf(request->client_name, sizeof request->client_name, "%s", name);
}

void http_set_transaction(struct http_request *http, const char *hash)
{
    snprintf(of(http)->transaction, sizeof of(http)->transaction, "%s", hash);
}

void http_on_client_gone(struct http_request *http, void (*callback)(void *context), void *context)
{
    struct request *request = of(http);
    /* The library closes the socket on the connection's own thread, after the request has been replied to:
     * until then the descriptor is this client's. */
    request->watched = true;
    connection_watch(request->peer, callback, context);
}

void http_reply_json(struct http_request *http, int status, char *json)
{
    http_reply_text(http, status, "application/json", json);
}

void http_reply_text(struct http_request *http, int status, const char *content_type, char *text)
{
    request_reply(of(http), status, reply_new(http->id, content_type, text));
}

void http_reply_problem(
    struct http_request *http, enum err e, const struct detail *detail, int retry_after_s, const char *extra)
{
    of(http)->error = e;
    request_reply(of(http), err_status(e), reply_problem(http->id, e, detail, retry_after_s, NULL, extra));
}
