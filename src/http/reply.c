/* Makes responses and their headers. None is sent here. */
#include "reply.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/json_write.h"
#include "base/log.h"

/* With constant names and clean values, the library's functions fail only when memory is exhausted. */
static void set_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_fatal(EX_OSERR, "cannot add a reply header", "name=%s", name);
}

struct MHD_Response *reply_new(const char *request_id, const char *content_type, char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        log_fatal(EX_OSERR, "out of memory for a reply", NULL);
    set_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    set_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    set_header(response, "X-Request-Id", request_id);
    return response;
}

/* Nothing of an error of ours or of the world is shown but its constant text. */
char *reply_problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra)
{
    const int status = err_status(e);
    const bool show = detail != NULL && detail->text[0] != '\0' && status >= 400 && status < 500;
    struct json_write out = {0};
    json_write_begin(&out, 512);
    json_write_text(&out, "type", "about:blank");
    json_write_text(&out, "title", MHD_get_reason_phrase_for((unsigned)status));
    json_write_number(&out, "status", status);
    /* bytes from a client, or a character that was cut at the end of struct detail */
    json_write_bytes(&out, "detail", show ? detail->text : err_text(e));
    json_write_text(&out, "code", err_code(e));
    json_write_text(&out, "requestId", request_id);
    if (extra != NULL)
        json_write_members(&out, extra);
    return json_write_end(&out);
}

struct MHD_Response *reply_problem(const char *request_id, enum err e, const struct detail *detail,
    int retry_after_s, const char *allow, const char *extra)
{
    struct MHD_Response *response =
        reply_new(request_id, "application/problem+json", reply_problem_text(e, detail, request_id, extra));
    if (retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", retry_after_s);
        set_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (err_status(e) == MHD_HTTP_UNAUTHORIZED) /* RFC 9110 section 11.6.1, RFC 6750 section 3 */
        set_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (allow != NULL)
        set_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    return response;
}
