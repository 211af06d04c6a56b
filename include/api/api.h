/*
 * The endpoints of the HTTP API, one file each in src/api. An endpoint reads the request on an HTTP thread
 * and never blocks it. Threads of the engine, the watch and the workers do the rest and send the reply.
 */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "grant/engine.h"
#include "grant/watch.h"
#include "submit/submitter.h"

#define API_BODY_MAX 262144 /* bytes of a request */

struct api_settings {
    struct auth *auth; /* NULL: AUTH=none; every request is the client ""'s */
    struct engine *engine;
    struct watch *watch;
    struct submitter *submitter;
    struct keyd *keyd;
    const struct master_key_row *keys; /* those that keyd has */
    size_t key_count;
    const char *database_url;
    const char *rpc_url;
    bool admin_is_local;  /* only this host can reach the admin listener */
    unsigned connections; /* of the API's listener; requests that wait get shares of them. 0: 1,024 */
    const char *passphrase;
    struct network_id network;
    struct policy_limits limits;         /* with those of fee bumps, and the distribution account */
    unsigned resource_margin_percent;    /* added to what a simulation finds for a call that is prepared */
    const _Atomic uint32_t *seen_ledger; /* the last that ingestion has seen committed; NULL: not known */
    struct funds_limits funds;           /* of the distribution account's balance */
    bool synchronous_failover;           /* DATABASE_FAILOVER=synchronous */
    unsigned ledger_ms;                  /* expected between two ledgers */
    bool reports_anew;                   /* each request of /readyz and of /v1/pool reads the database */
    bool signatures; /* ledgers are proved by those of validators; false: the RPC is believed */
    /* Whether ingestion works in this process; if not, why. NULL: nothing is ingested. */
    bool (*ingest_ready)(void *context, struct detail *why);
    /* Whether the RPC is known to be of the network: nothing is leased before. NULL: it is. */
    bool (*network_checked)(void *context);
    void *ingest_context;
};

struct api;

/* What settings points to must outlive the api. Does not wait for the database, which may be unavailable. */
struct api *api_start(const struct api_settings *settings);
/* The probes and /metrics, for the admin listener: with a database worker of its own, so that clients of the
 * API cannot block them. */
struct api *api_start_admin(const struct api_settings *settings);
/* The routes for http_server_settings. They live as long as the api. */
const struct http_route *api_routes(const struct api *api, size_t *count);
/* From now on /readyz replies that the service is stopping. */
void api_stopping(struct api *api);
/* Ends the workers and the calls of the RPC; requests that wait for them get ERR_SHUTTING_DOWN. Call it after
 * http_server_drain, which ends new requests. */
void api_drain(struct api *api);
/* Call it after api_drain, engine_stop, watch_stop and http_server_free: until then replies that need the api
 * may be sent, the last ones by a thread of the HTTP server that cancels the request of a client that left.
 */
void api_free(struct api *api);
