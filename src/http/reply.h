/* Responses for libmicrohttpd, with the headers that every reply has. */
#pragma once

#include <microhttpd.h>

#include "base/err.h"

/* A new response. text: terminated, from malloc, taken over. */
struct MHD_Response *reply_new(const char *request_id, const char *content_type, char *text);

/* A new response with problem+json, see http_reply_problem. allow: the Allow header, or NULL. */
struct MHD_Response *reply_problem(const char *request_id, enum err e, const struct detail *detail,
    int retry_after_s, const char *allow, const char *extra);

/* Its text, which the caller frees. type is about:blank and title the phrase of the status (RFC 9457 section
 * 4.2.1). detail is used for a 4xx, else err_text(e). */
char *reply_problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra);
