#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "problem.h"
#include "request.h"

struct bytes http_body(const struct http_request *request)
{
    return buf_bytes(&request->body);
}

const char *http_path_parameter(const struct http_request *request)
{
    return request->match.parameter;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return target_query(&request->target, name);
}

const char *http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_request_id(const struct http_request *request)
{
    return request->id;
}

void http_on_client_gone(struct http_request *request, void (*callback)(void *context), void *context)
{
    /* The library closes the socket on the connection's own thread, after the request has been answered:
     * until then the descriptor is this client's. */
    request->hangup = (struct hangup){request->peer->fd, callback, context};
    request->hangup_watched = true;
    hangups_watch(request->server->hangups, &request->hangup);
}

/* The library's functions fail for want of memory only, given constant names and clean values. */
static void set_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_fatal(EX_OSERR, "cannot add a reply header", "name=%s", name);
}

static struct MHD_Response *response_new(
    const struct http_request *request, const char *content_type, char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        log_fatal(EX_OSERR, "out of memory for a reply", NULL);
    set_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    set_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    set_header(response, "X-Request-Id", request->id);
    return response;
}

static struct MHD_Response *problem_new(const struct http_request *request, enum err e,
    const struct detail *detail, int retry_after_s, const char *extra)
{
    char *text = problem_text(e, detail, request->id, extra);
    struct MHD_Response *response = response_new(request, "application/problem+json", text);
    if (retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", retry_after_s);
        set_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    return response;
}

void http_reply_json(struct http_request *request, int status, char *json)
{
    request_answer(request, status, response_new(request, "application/json", json));
}

void http_reply_text(struct http_request *request, int status, const char *content_type, char *text)
{
    request_answer(request, status, response_new(request, content_type, text));
}

void http_reply_problem(struct http_request *request, enum err e, const struct detail *detail,
    int retry_after_s, const char *extra)
{
    request->client_left = e == ERR_CANCELLED;
    request_answer(request, err_status(e), problem_new(request, e, detail, retry_after_s, extra));
}

void reply_refusal(struct http_request *request, enum err e, const struct detail *detail)
{
    struct MHD_Response *response = problem_new(request, e, detail, e == ERR_SHUTTING_DOWN ? 1 : 0, NULL);
    if (e == ERR_METHOD_NOT_ALLOWED)
        set_header(response, MHD_HTTP_HEADER_ALLOW, request->match.allow);
    request_answer(request, err_status(e), response);
}
