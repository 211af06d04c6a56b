/* The request target and the route that it leads to. The input is the target, up to a NUL. */
#include <string.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "http/route.h"
#include "http/target.h"

static void handler(struct http_request *request, void *context)
{
    (void)request, (void)context;
}

static const struct http_route routes[] = {
    {"GET", "/livez", 0, handler, NULL, NULL},
    {"GET", "/v1/channel-accounts", 0, handler, NULL, NULL},
    {"POST", "/v1/transactions", 1, handler, NULL, NULL},
    {"GET", "/v1/transactions/{hash}", 0, handler, NULL, NULL},
};

static void check_query(struct target *target)
{
    RULE(target->query_count <= TARGET_QUERY_MAX);
    for (size_t i = 0; i < target->query_count; i++)
        RULE(target_query(target, target->query[i].name) == target->query[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *raw = NEW_ARRAY(size + 1, char);
    if (size > 0)
        memcpy(raw, data, size);
    struct target target CLEANUP(target_wipe);
    struct detail detail = {0};
    enum err e = target_parse(&target, raw, &detail);
    RULE(strcmp(target.raw, raw) == 0);
    RULE(e == ERR_OK || (e == ERR_INVALID_REQUEST && detail.text[0] != '\0'));
    if (e == ERR_OK) {
        struct route_match match;
        RULE(raw[0] == '/' && strncmp(raw, target.path, strlen(target.path)) == 0);
        check_query(&target);
        e = route_find(routes, ARRAY_LEN(routes), "GET", target.path, &match);
        RULE(e != ERR_OK || strcmp(match.route->method, "GET") == 0);
        RULE(match.parameter == NULL || strlen(match.parameter) <= strlen(target.path));
    }
    return 0;
}
