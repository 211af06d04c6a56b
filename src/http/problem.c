#include "problem.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL)
        return value;
    /* Not UTF-8: bytes from a client, or a character that was cut at the end of struct detail. */
    AUTO_FREE char *ascii = mem_copy_text(text);
    for (char *at = ascii; *at != '\0'; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return json_string(ascii);
}

static void add_extra(json_t *problem, const char *extra)
{
    json_t *members = json_loads(extra, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(members) || json_object_update_missing(problem, members) != 0)
        log_error("problem members are not a JSON object", NULL);
    json_decref(members);
}

char *problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra)
{
    int status = err_status(e);
    bool show = detail != NULL && detail->text[0] != '\0' && status >= 400 && status < 500;
    json_t *problem = json_object();
    json_object_set_new(problem, "type", json_string("about:blank"));
    json_object_set_new(problem, "title", json_string(MHD_get_reason_phrase_for((unsigned)status)));
    json_object_set_new(problem, "status", json_integer(status));
    json_object_set_new(problem, "detail", text_value(show ? detail->text : err_text(e)));
    json_object_set_new(problem, "code", json_string(err_code(e)));
    json_object_set_new(problem, "requestId", json_string(request_id));
    if (extra != NULL)
        add_extra(problem, extra);
    char *text = json_dumps(problem, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(problem);
    return text == NULL ? mem_copy_text("{}") : text;
}
