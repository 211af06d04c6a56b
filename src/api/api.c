#include "api/api.h"

#include <stdlib.h>

#include "base/mem.h"
#include "context.h"

struct api *api_start(const struct api_settings *settings)
{
    struct api *api = NEW(struct api);
    api->settings = *settings;
    api->workers = workers_start(settings->database_url, settings->workers == 0 ? 2 : settings->workers);
    return api;
}

const struct http_route *api_routes(const struct api *api, size_t *count)
{
    void *context = (void *)api;
    const size_t body = api->settings.max_body;
    const struct http_route routes[] = {
        {"POST", "/v1/transactions", body, post_transaction, context},
        {"GET", "/v1/transactions/{hash}", 0, get_transaction, context},
        {"POST", "/v1/fee-bumps", body, post_fee_bump, context},
        {"GET", "/v1/pool", 0, get_pool, context},
        {"GET", "/v1/channel-accounts", 0, get_channel_accounts, context},
        {"GET", "/livez", 0, get_livez, context},
        {"GET", "/readyz", 0, get_readyz, context},
        {"GET", "/health", 0, get_readyz, context},
    };
    struct api *mutable_api = context;
    free(mutable_api->routes);
    mutable_api->routes = mem_copy(routes, sizeof routes);
    *count = ARRAY_LEN(routes);
    return mutable_api->routes;
}

void api_stop(struct api *api)
{
    workers_stop(api->workers);
    free(api->routes);
    free(api);
}
