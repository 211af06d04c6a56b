/*
 * The endpoints of the HTTP API (DESIGN section 8), one file each in src/api. They read a request, have the
 * pool answer it, and write the reply; none blocks an HTTP thread.
 */
#ifndef FAIRWAY_API_API_H
#define FAIRWAY_API_API_H

#include "http/http.h"
#include "grant/engine.h"
#include "grant/watch.h"

struct api_settings {
    struct engine *engine;
    struct watch *watch;
    struct keyd *keyd;
    const char *database_url; /* may lead through a transaction pooler */
    unsigned workers;         /* threads with a connection each, for what asks the database; 0: 4 */
    unsigned connections;     /* of the API's listener: requests that wait get shares of them; 0: 1,024 */
    const char *passphrase;
    struct network_id network;
    struct public_key distribution;
    struct policy_limits limits; /* with those of fee bumps */
    struct funds_limits funds;   /* of the distribution account's balance */
    bool synchronous_failover;   /* DATABASE_FAILOVER=synchronous */
    size_t max_body;             /* bytes */
    unsigned ledger_seconds;     /* expected between two ledgers */
    /* Whether ingestion is as it should be. NULL: this process does not ingest. */
    bool (*ingest_ready)(void *context, struct detail *why);
    void *ingest_context;
};

struct api;

/* The strings and what is pointed at must outlive it. Does not connect yet: the database may be away. */
struct api *api_start(const struct api_settings *settings);
/*
 * What operators and their tools ask: the probes. For a listener of its own, whose threads and connections no
 * client of the API can take, with a worker of its own.
 */
struct api *api_start_admin(const struct api_settings *settings);
/* For http_settings; lives as long as the api. */
const struct http_route *api_routes(const struct api *api, size_t *count);
/* From now on /readyz says that the service is stopping. */
void api_stopping(struct api *api);
/* After http_server_drain, and before engine_stop: a worker may still hand a request to the engine. Requests
 * that wait for a worker are answered with ERR_SHUTTING_DOWN. */
void api_drain(struct api *api);
/* After api_drain, engine_stop and watch_stop, whose answers need it. */
void api_free(struct api *api);

#endif
