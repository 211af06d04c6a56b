/* Problem documents. Nothing of an error of the server or of the world is ever shown here but its constant
 * text. */
#include "problem.h"

#include <microhttpd.h>
#include <stdbool.h>

#include "base/json_write.h"

char *problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra)
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
