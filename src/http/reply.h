/* Responses for libmicrohttpd, with the headers that every reply has. */
#ifndef FAIRWAY_HTTP_REPLY_H
#define FAIRWAY_HTTP_REPLY_H

#include <microhttpd.h>

#include "base/err.h"

/* A new response. text: terminated, from malloc, taken over. */
struct MHD_Response *reply_new(const char *request_id, const char *content_type, char *text);

/* A new response with problem+json, see http_reply_problem. allow: the Allow header, or NULL. */
struct MHD_Response *reply_problem(const char *request_id, enum err e, const struct detail *detail,
    int retry_after_s, const char *allow, const char *extra);

#endif
