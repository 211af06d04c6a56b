/*
 * Watches the distribution account while this replica leads: logs when its balance crosses a limit, and reads
 * the account from the RPC in a thread of its own, every FUNDS_REREAD_MS. The RPC may hang, so no ledger
 * waits for the thread: what it has read is used by the next ledger transaction. A read that fails is
 * repeated after a later ledger.
 */
#pragma once

#include <pthread.h>

#include "pool/funds.h"
#include "pool/settle_evidence.h"
#include "rpc/feed.h"

struct funds_watch {
    struct funds_limits limits;
    struct feed feed;       /* the thread calls feed.accounts and feed.network */
    enum funds_level level; /* the one that was logged last */
    int64_t reread_ms;      /* when the account is read again */
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool stopping;
    bool wanted; /* the thread must read this: */
    struct public_key account;
    bool ready; /* the thread has read this, and funds_watch_take has not returned it yet: */
    struct account_snapshot snapshot;
};

void funds_watch_start(struct funds_watch *watch, const struct feed *feed, const struct funds_limits *limits);
/* Ends the thread. Waits for its request in progress, which the caller has cancelled. */
void funds_watch_stop(struct funds_watch *watch);

/* Returns in *out what was read since the last call; false: nothing was read. Never blocks. */
bool funds_watch_take(struct funds_watch *watch, struct account_snapshot *out);

/* To be called after each ledger, with what is known after it: logs a change of level, and has the thread
 * read the account when it is time. Never blocks. */
void funds_watch_ledger(struct funds_watch *watch, const struct funds *funds);
