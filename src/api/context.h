/* What the endpoints share. */
#pragma once

#include "api/api.h"
#include "client_loads.h"
#include "connection_shares.h"
#include "last_report.h"
#include "rpc/rpc.h"
#include "workers.h"

#define ROUTES_MAX 16

struct api;

/* An endpoint that only authenticated clients may use. */
struct api_guarded {
    struct api *api;
    enum auth_scope scope;
    http_handler handler; /* its context is the api */
};

/* Who has sent a request: what is kept with one that api_admit has let in. */
struct api_sender {
    struct auth_client client; /* first: reply.c takes it for this alone */
    struct api *api;
    struct client_load *load;
};

struct api {
    struct api_settings settings;
    struct workers *workers;
    struct rpc *rpc;                     /* NULL: the admin listener's API has none */
    _Atomic uint32_t limits[RPC_LIMITS]; /* the network's, as they were read last */
    _Atomic uint32_t limits_asked_for;   /* in which ledger; 0: not yet */
    struct connection_shares shares;
    struct client_loads loads;
    struct last_report last_readyz, last_pool;
    atomic_bool stopping; /* /readyz reports it */
    struct api_guarded guarded[ROUTES_MAX];
    struct http_route routes[ROUTES_MAX];
    size_t route_count;
};

/* The handlers; the context is the struct api. Each is in the file of its name, livez and readyz in
 * get_health.c, status and status_json in service_status.c. api_admit and api_guard, in guard.c, authenticate
 * the request's head and its body; api_guard calls the handler of the struct api_guarded. */
MUST_CHECK enum err api_admit(struct http_request *request, void *api_guarded, struct http_refusal *refusal);
void api_guard(struct http_request *request, void *api_guarded);
/* The name of the client with which the request competes for a queue; NULL: there is no other client. It
 * lives as long as the request. */
const char *api_sharer(const struct http_request *request);
void api_post_transaction(struct http_request *request, void *api);
void api_list_transactions(struct http_request *request, void *api);
void api_get_transaction(struct http_request *request, void *api);
void api_get_info(struct http_request *request, void *api);
void api_post_fee_bump(struct http_request *request, void *api);
void api_post_submission(struct http_request *request, void *api);
void api_get_pool(struct http_request *request, void *api);
void api_get_channel_accounts(struct http_request *request, void *api);
void api_get_livez(struct http_request *request, void *api);
void api_get_readyz(struct http_request *request, void *api);
void api_get_openapi(struct http_request *request, void *api);
void api_get_metrics(struct http_request *request, void *api);
void api_get_status(struct http_request *request, void *api);
void api_get_status_json(struct http_request *request, void *api);
