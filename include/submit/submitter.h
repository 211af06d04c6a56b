/*
 * The submitter sends the bids of submissions to every address of RPC_URL: at once when this replica has
 * committed them, and again once a ledger, or sooner when no address has answered. After each committed
 * ledger every replica claims what is due; there is no leader. When nodes have refused or dropped a bid, the
 * next one (grant/bid_rule.h) is an ordinary fee bump of the engine. Nothing here ends a submission: the
 * ledger that ends its lease does.
 */
#pragma once

#include "grant/engine.h"

struct submitter;

struct submitter_settings {
    const char *database_url;
    const char *rpc_url;
    struct engine *engine;              /* makes the next bids; outlives submitter_stop */
    const struct policy_limits *limits; /* of fee bumps; outlives the submitter */
};

/* Does not connect yet: database and RPC may be unavailable. */
struct submitter *submitter_start(const struct submitter_settings *settings);
/* Sends a committed bid that bump_batch_run says is to be sent, of the lease with this hash. Copies the
 * bytes. is_new: a client has just submitted it. Never blocks. */
void submitter_send(
    struct submitter *submitter, const struct hash *lease, const struct bump *bump, bool is_new);
/* A ledger may have been committed: what is due is claimed. context is the submitter. Never blocks. */
void submitter_ledger(void *context);
/* Claims nothing any more. */
void submitter_stop(struct submitter *submitter);
/* Drops what waits and cancels what is being sent: another replica sends it after the next ledger. Call it
 * after engine_stop, which ends the last bids, and when nobody calls submitter_send any more. */
void submitter_free(struct submitter *submitter);
