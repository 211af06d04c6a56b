/* The routes of both listeners, in one place. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/recent_speed.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "context.h"
#include "http/server.h"

_Static_assert(API_BODY_MAX <= KEYD_TRANSACTION_MAX, "no body has a transaction that keyd does not take");

#define API_WORKERS 3
#define ADMIN_WORKERS 1

static void add(struct api *api, const char *method, const char *path, size_t body_cap, http_handler handler)
{
    api->routes[api->route_count++] = (struct http_route){method, path, body_cap, handler, api, NULL};
}

static void add_guarded(struct api *api, enum auth_scope scope, const char *method, const char *path,
    size_t body_cap, http_handler handler)
{
    struct api_guarded *guarded = &api->guarded[api->route_count];
    *guarded = (struct api_guarded){api, scope, handler};
    api->routes[api->route_count++] =
        (struct http_route){method, path, body_cap, api_guard, guarded, api_admit};
}

static struct api *api_new(const struct api_settings *settings, unsigned workers)
{
    static const uint32_t limits[RPC_LIMITS] = {
        400000000, 200000, 132096}; /* of today, until they are read */
    struct api *api = NEW(struct api);
    api->settings = *settings;
    api->shares.connections = settings->connections == 0 ? HTTP_MAX_CONNECTIONS : settings->connections;
    client_loads_init(&api->loads);
    for (size_t i = 0; i < RPC_LIMITS; i++)
        atomic_init(&api->limits[i], limits[i]);
    last_report_init(&api->last_readyz);
    last_report_init(&api->last_pool);
    api->workers = workers_start(settings->database_url, workers);
    return api;
}

static void add_probes(struct api *api)
{
    add(api, "GET", "/livez", 0, api_get_livez);
    add(api, "GET", "/readyz", 0, api_get_readyz);
    add(api, "GET", "/health", 0, api_get_readyz);
}

struct api *api_start(const struct api_settings *settings)
{
    struct api *api = api_new(settings, API_WORKERS);
    api->rpc = rpc_new(&(struct rpc_settings){
        .url = settings->rpc_url, .timeout_ms = API_RPC_CALL_MS, .wait_ms = API_RPC_WAIT_MS});
    recent_speed_keep(); /* the first minute is compared with it */
    add_guarded(api, AUTH_LEASE, "POST", "/v1/transactions", API_BODY_MAX, api_post_transaction);
    add_guarded(api, AUTH_STATUS, "GET", "/v1/transactions", 0, api_list_transactions);
    add_guarded(api, AUTH_STATUS, "GET", "/v1/transactions/{hash}", 0, api_get_transaction);
    add_guarded(api, AUTH_FEE_BUMP, "POST", "/v1/fee-bumps", API_BODY_MAX, api_post_fee_bump);
    add_guarded(api, AUTH_STATUS, "GET", "/v1/info", 0, api_get_info);
    add_guarded(api, AUTH_LEASE, "POST", "/v1/submissions", API_BODY_MAX, api_post_submission);
    add_guarded(api, AUTH_POOL, "GET", "/v1/pool", 0, api_get_pool);
    add_guarded(api, AUTH_POOL, "GET", "/v1/channel-accounts", 0, api_get_channel_accounts);
    add(api, "GET", "/openapi.json", 0, api_get_openapi);
    add_probes(api);
    return api;
}

/* A page in a browser of this host can have its own name lead here (DNS rebinding); its requests have that
 * name. */
static enum err admit_local(struct http_request *request, void *context, struct http_refusal *refusal)
{
    (void)context;
    const char *host = http_header(request, "Host");
    const size_t len = host == NULL ? 0 : strcspn(host, ":");
    if (host == NULL || host[0] == '[' || (len > 0 && strspn(host, "0123456789.") >= len) ||
        (len == strlen("localhost") && strncasecmp(host, "localhost", len) == 0))
        return ERR_OK;
    return detail_set(&refusal->detail, ERR_FORBIDDEN, "Host must be an address or localhost.");
}

struct api *api_start_admin(const struct api_settings *settings)
{
    struct api *admin = api_new(settings, ADMIN_WORKERS);
    add_probes(admin);
    add(admin, "GET", "/metrics", 0, api_get_metrics);
    add(admin, "GET", "/status", 0, api_get_status);
    add(admin, "GET", "/status.json", 0, api_get_status_json);
    for (size_t i = 0; settings->admin_is_local && i < admin->route_count; i++)
        admin->routes[i].admit = admit_local;
    return admin;
}

const struct http_route *api_routes(const struct api *api, size_t *count)
{
    *count = api->route_count;
    return api->routes;
}

void api_stopping(struct api *api)
{
    atomic_store(&api->stopping, true);
}

void api_drain(struct api *api)
{
    if (api->rpc != NULL) {
        rpc_cancel(api->rpc);
        rpc_settle(api->rpc); /* the answers have gone to the workers */
    }
    workers_stop(api->workers); /* the watch may still submit to them, and gets ERR_SHUTTING_DOWN */
    if (api->rpc != NULL)
        rpc_settle(api->rpc); /* what a worker handed over at the end */
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    rpc_free(api->rpc);
    workers_free(api->workers);
    client_loads_free(&api->loads);
    last_report_free(&api->last_readyz);
    last_report_free(&api->last_pool);
    free(api);
}
