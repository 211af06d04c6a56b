/*
 * What a command that works on the pool needs: key process, database session, network. The key process starts
 * first, before this process opens any socket, and is told the network; then come the database and the RPCs,
 * which must be of that network.
 */
#pragma once

#include "base/config.h"
#include "ingest/ingest.h"
#include "keys/keyd.h"
#include "pool/funds.h"

struct pool_access {
    struct keyd *keyd;
    struct master_key_row keys[MASTER_KEY_ROWS_MAX + 2]; /* those that keyd has */
    size_t key_count;
    struct master_key_row current_key; /* the one that seals */
    struct db *db;
    const char *database_url;
    bool synchronous_failover; /* of the database */
    const char *rpc_url;
    bool rpc_checked;       /* false: it did not answer, so its network is not known */
    const char *passphrase; /* of the network */
    struct network_id network;
    struct public_key distribution;
    struct keyd_settings limits; /* of keyd, and for our own checks of fees */
    struct funds_limits funds;   /* of the distribution account's balance */
};

/* The steps of such a start, in their order; each needs those before it, but the database and the RPC do not
 * need each other. */
enum pool_step {
    STEP_OPTIONS,
    STEP_KEY_PROCESS,
    STEP_CONFINEMENT,
    STEP_DATABASE,
    STEP_RPC,
    STEP_KEYS,
    STEP_COUNT
};
struct pool_opening {
    const struct config *config;
    enum keyd_mode mode;
    bool needs_rpc;
    int64_t deadline_ms; /* clock_ms: until then a step waits for database and RPC */
    struct pool_access *out;
};
MUST_CHECK enum err pool_access_step(
    const struct pool_opening *opening, enum pool_step step, struct detail *detail);

/* Returns EX_OK, or logs the error and returns the command's exit code. Waits up to START_TIMEOUT for a
 * database that is unavailable, and for an RPC if the command needs one to start. Call pool_access_close in
 * either case. */
int pool_access_open(
    const struct config *config, enum keyd_mode mode, bool needs_rpc, struct pool_access *out);
/* Between two requests for what is not there yet. */
unsigned pool_access_poll_ms(const struct config *config);
/* What ingestion of such a command needs. An RPC that has not been checked is checked there. */
struct ingest_settings pool_access_ingestion(const struct config *config, struct pool_access *access);
void pool_access_close(struct pool_access *access);
