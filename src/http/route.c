/* Finds the route of a method and path. Patterns are constants of the program. */
#include "route.h"

#include <string.h>

/* The segment that stands for {parameter} goes to *value (NULL: none). */
static bool path_fits(const char *pattern, const char *path, const char **value)
{
    const size_t literal = strcspn(pattern, "{");
    *value = NULL;
    if (strncmp(pattern, path, literal) != 0)
        return false;
    if (pattern[literal] == '\0')
        return path[literal] == '\0';
    *value = path + literal;
    return **value != '\0' && strchr(*value, '/') == NULL;
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

enum err route_find(const struct http_route *routes, size_t count, const char *method, const char *path,
    struct route_match *match)
{
    *match = (struct route_match){0};
    for (size_t i = 0; i < count; i++) {
        const char *parameter;
        if (!path_fits(routes[i].path, path, &parameter))
            continue;
        if (method_fits(&routes[i], method)) {
            match->route = &routes[i];
            match->parameter = parameter;
            return ERR_OK;
        }
        allow_add(match, routes[i].method);
    }
    return match->allow[0] == '\0' ? ERR_NOT_FOUND : ERR_METHOD_NOT_ALLOWED;
}
