#include "api/api.h"

#include <stdlib.h>

#include "base/mem.h"
#include "context.h"

/* A fee bump waits for one commit; the server gathers the commits of several connections into one flush. */
#define WORKERS_DEFAULT 4

static void add(struct api *api, const char *method, const char *path, size_t body_cap, http_handler handler)
{
    api->routes[api->route_count++] = (struct http_route){method, path, body_cap, handler, api};
}

struct api *api_start(const struct api_settings *settings)
{
    struct api *api = NEW(struct api);
    api->settings = *settings;
    api->workers =
        workers_start(settings->database_url, settings->workers == 0 ? WORKERS_DEFAULT : settings->workers);
    add(api, "POST", "/v1/transactions", settings->max_body, post_transaction);
    add(api, "GET", "/v1/transactions/{hash}", 0, get_transaction);
    add(api, "POST", "/v1/fee-bumps", settings->max_body, post_fee_bump);
    add(api, "GET", "/v1/pool", 0, get_pool);
    add(api, "GET", "/v1/channel-accounts", 0, get_channel_accounts);
    add(api, "GET", "/livez", 0, get_livez);
    add(api, "GET", "/readyz", 0, get_readyz);
    add(api, "GET", "/health", 0, get_readyz);
    add(api, "GET", "/metrics", 0, get_metrics);
    return api;
}

const struct http_route *api_routes(const struct api *api, size_t *count)
{
    *count = api->route_count;
    return api->routes;
}

void api_drain(struct api *api)
{
    workers_stop(api->workers);
    api->workers = NULL;
}

void api_free(struct api *api)
{
    free(api);
}
