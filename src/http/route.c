/* Finds the route of a method and path, and decodes its parameter. Patterns are constants of the program. */
#include "route.h"

#include <string.h>

#include "base/mem.h"
#include "target.h"

/* The segment that stands for {parameter} goes to value (NULL: none). */
static bool path_fits(const char *pattern, const char *path, struct bytes *value)
{
    *value = (struct bytes){0};
    while (*pattern != '\0') {
        if (*pattern == '{') {
            size_t len = strcspn(path, "/");
            if (len == 0)
                return false;
            *value = (struct bytes){(const uint8_t *)path, len};
            path += len;
            pattern = strchr(pattern, '}') + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static bool method_fits(const struct http_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

static void allow_add(struct route_match *match, const char *method)
{
    size_t have = strlen(match->allow);
    if (have + strlen(method) + 3 > sizeof match->allow)
        return;
    if (have > 0)
        strcat(match->allow, ", ");
    strcat(match->allow, method);
    if (strcmp(method, "GET") == 0)
        allow_add(match, "HEAD");
}

static enum err take(
    struct route_match *match, const struct http_route *route, struct bytes value, struct detail *detail)
{
    match->route = route;
    match->allow[0] = '\0';
    if (value.data == NULL)
        return ERR_OK;
    match->parameter = mem_format("%.*s", (int)value.len, (const char *)value.data);
    if (target_decode(match->parameter) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "The path has a broken percent escape.");
    return ERR_OK;
}

enum err route_find(const struct http_route *routes, size_t count, const char *method, const char *path,
    struct route_match *match, struct detail *detail)
{
    *match = (struct route_match){0};
    for (size_t i = 0; i < count; i++) {
        struct bytes value;
        if (!path_fits(routes[i].path, path, &value))
            continue;
        if (method_fits(&routes[i], method))
            return take(match, &routes[i], value, detail);
        allow_add(match, routes[i].method);
    }
    return match->allow[0] == '\0' ? ERR_NOT_FOUND : ERR_METHOD_NOT_ALLOWED;
}
