/*
 * Watches the distribution account while this replica leads: logs when its balance falls below a limit, and
 * has a thread of its own that asks the RPC for the account. The thread asks while the balance is not known,
 * and every some minutes afterwards: metadata of ledgers is covered by no hash, and a leader of an older
 * version does not follow the balance. An RPC that does not answer must not delay a ledger, so ledgers never
 * wait for the thread: its answer goes into the next ledger transaction.
 */
#ifndef FAIRWAY_INGEST_FUNDS_WATCH_H
#define FAIRWAY_INGEST_FUNDS_WATCH_H

#include <pthread.h>

#include "feed.h"
#include "pool/funds.h"
#include "pool/settle.h"

struct funds_watch {
    struct funds_limits limits;
    struct feed feed;       /* its accounts are called from the thread only */
    enum funds_level level; /* that was logged last */
    int64_t reread_ms;      /* when the account is read again although it is known */
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool stopping, wanted, answered;
    struct public_key account;
    struct account_snapshot seen;
};

/* 0, or the error of pthread_create. */
int funds_watch_start(struct funds_watch *watch, const struct feed *feed, const struct funds_limits *limits);
/* A request under way is waited for; the caller has cancelled it. */
void funds_watch_stop(struct funds_watch *watch);

/* What was read since the last call. Never blocks. */
bool funds_watch_take(struct funds_watch *watch, struct account_snapshot *out);

/* After each ledger: logs a change of level, and has the thread ask the RPC when it is time. Never
 * blocks. */
void funds_watch_saw(struct funds_watch *watch, const struct funds *funds);

#endif
