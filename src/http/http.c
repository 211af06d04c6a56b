/* What endpoints see of a request. Nothing of libmicrohttpd is passed on. */
#include "http/http.h"

#include <stdio.h>

#include "base/metric.h"
#include "reply.h"
#include "request.h"

const char *http_method(const struct http_request *request)
{
    return request->method;
}

const char *http_target(const struct http_request *request)
{
    return request->target.raw;
}

struct bytes http_body(const struct http_request *request)
{
    return buf_bytes(&request->body);
}

void http_free_body(struct http_request *request)
{
    buf_free(&request->body);
}

const char *http_path_parameter(const struct http_request *request)
{
    return request->match.parameter;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return target_query(&request->target, name);
}

uint64_t http_content_length(const struct http_request *request)
{
    return request->content_length;
}

void http_keep(struct http_request *request, void *memory, void (*release)(void *memory))
{
    request->kept = memory;
    request->release = release;
}

void *http_kept(const struct http_request *request)
{
    return request->kept;
}

const char *http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void http_set_client(struct http_request *request, const char *name)
{
    request->client = metric_label_find(METRIC_CLIENT, name);
    snprintf(request->client_name, sizeof request->client_name, "%s", name);
}

void http_set_transaction(struct http_request *request, const char *hash)
{
    snprintf(request->transaction, sizeof request->transaction, "%s", hash);
}

const char *http_request_id(const struct http_request *request)
{
    return request->id;
}

void http_on_client_gone(struct http_request *request, void (*callback)(void *context), void *context)
{
    /* The library closes the socket on the connection's own thread, after the request has been replied to:
     * until then the descriptor is this client's. */
    request->hangup = (struct hangup){.fd = request->peer->fd, .callback = callback, .context = context};
    hangups_watch(&request->server->hangups, &request->hangup);
}

void http_reply_json(struct http_request *request, int status, char *json)
{
    request_reply(request, status, reply_new(request->id, "application/json", json));
}

void http_reply_text(struct http_request *request, int status, const char *content_type, char *text)
{
    request_reply(request, status, reply_new(request->id, content_type, text));
}

void http_reply_problem(struct http_request *request, enum err e, const struct detail *detail,
    int retry_after_s, const char *extra)
{
    request->error = e;
    request_reply(request, err_status(e), reply_problem(request->id, e, detail, retry_after_s, NULL, extra));
}
