/*
 * What every command that works on a pool needs first, in the one order that is safe: secrets and key process
 * before any socket, then the database, then the network, each checked against the others.
 */
#ifndef FAIRWAY_STARTUP_H
#define FAIRWAY_STARTUP_H

#include "base/config.h"
#include "db/db.h"
#include "keys/keyd.h"
#include "pool/funds.h"

struct startup {
    struct keyd *keyd;
    struct master_key_row keys[MASTER_KEY_ROWS_MAX + 1]; /* those that keyd has */
    size_t key_count;
    struct db *db; /* direct */
    const char *database_url, *database_direct_url;
    bool synchronous_failover; /* of the database */
    const char *rpc_url;       /* NULL: not given */
    char *passphrase;
    struct network_id network;
    struct public_key distribution;
    struct keyd_settings limits; /* fee caps as configured */
    struct funds_limits funds;   /* of the distribution account's balance */
};

/* What a command needs beside its keys and DATABASE_DIRECT_URL. */
enum startup_needs {
    NEEDS_RPC = 1,         /* RPC_URL must be given and must answer */
    NEEDS_DATABASE_URL = 2 /* must lead to the same database */
};

/* 0, or the exit code of the command after logging why. needs: of enum startup_needs. What is unavailable is
 * waited for until START_TIMEOUT. */
int startup(const struct config *config, enum keyd_mode mode, unsigned needs, struct startup *out);
/* For a command that reads ledgers only: no key process, and the database must be bound to its network
 * already. */
int startup_without_keys(const struct config *config, struct startup *out);
/* Also after a startup that failed. */
void startup_end(struct startup *startup);

#endif
