/* Responses for libmicrohttpd, with the headers that every reply has. */
#pragma once

#include <microhttpd.h>

#include "base/err.h"

/* A new response. text: terminated, from malloc, taken over. */
struct MHD_Response *reply_new(const char *request_id, const char *content_type, char *text);

/* A new response with problem+json, see http_reply_problem. allow: the Allow header, or NULL. */
struct MHD_Response *reply_problem(const char *request_id, enum err e, const struct detail *detail,
    int retry_after_s, const char *allow, const char *extra);

/*
 * The text of a problem document (RFC 9457): new, which the caller frees. type is about:blank and title the
 * phrase of the status (section 4.2.1); code distinguishes the problems of one status. detail is used for a
 * 4xx, else err_text(e). extra (may be NULL): the text of a JSON object whose members are added, with names
 * of their own.
 */
char *reply_problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra);
