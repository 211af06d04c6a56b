/* Which route a method and path belong to. */
#pragma once

#include "http/http.h"

struct route_match {
    const struct http_route *route; /* NULL unless found */
    const char *parameter;          /* in the path; NULL: the route has none */
    char allow[64]; /* for ERR_METHOD_NOT_ALLOWED: the Allow header (RFC 9110 section 10.2.1) */
};

/*
 * Segments are compared as sent: a path with an escaped literal, an empty segment or a trailing slash is not
 * found. A {parameter} takes one non-empty segment, as sent. HEAD is answered by the GET route. The first
 * route that fits wins. ERR_NOT_FOUND, or ERR_METHOD_NOT_ALLOWED.
 */
MUST_CHECK enum err route_find(const struct http_route *routes, size_t count, const char *method,
    const char *path, struct route_match *match);
