/*
 * Takes accounts that exist already into the pool, by their seeds. The seeds are in the key process alone,
 * which has read them and returns them sealed. An account joins when the network says that its own key alone
 * controls it and that it could be merged. Nothing is sent to the network: balances and sponsorships stay as
 * they are.
 */
#pragma once

#include "keys/keyd.h"
#include "rpc/feed.h"

struct import_settings {
    const char *database_url;
    struct network_id network;
    struct public_key distribution;
    struct keyd *keyd;  /* KEYD_IMPORT */
    struct feed feed;   /* reads accounts and frozen keys */
    unsigned timeout_s; /* how long database, RPC and ledgers may be unavailable */
    unsigned poll_ms;
};

enum import_outcome {
    IMPORT_REFUSED,
    IMPORT_KNOWN, /* it was in the pool already */
    IMPORT_TAKEN
};

struct import_item {
    struct imported_key given;
    enum import_outcome outcome;
    char why[120]; /* it was refused, or the state of one that is known */
};

/*
 * Blocks until each line of the input has been decided, and reports the lines in their order, those of a
 * batch after its COMMIT. Some process must ingest ledgers meanwhile. May run beside grants and ingestion,
 * waits while another process changes the pool's size, and may be called again after any error or crash: what
 * was stored is known then.
 *
 * Errors end the run; lines that are not reported are not decided. ERR_RPC_UNAVAILABLE,
 * ERR_DATABASE_UNAVAILABLE, ERR_NOT_YET: for longer than timeout_s. ERR_KEYD_UNAVAILABLE.
 */
typedef void (*import_report)(void *context, const struct import_item *item);
MUST_CHECK enum err import_all(
    const struct import_settings *settings, import_report report, void *context, struct detail *detail);
