/*
 * Watches the distribution account while this replica leads: logs when its balance crosses a limit, and reads
 * the account from the RPC in a thread of its own. The thread reads as soon as the balance is not known, and
 * again every few minutes, because no hash covers the metadata of ledgers, and because a leader of an
 * older version does not follow the balance. The RPC may hang, so no ledger waits for the thread: what it has
 * read is used by the next ledger transaction.
 *
 * With several addresses in RPC_URL, the thread asks two of them, and uses the answer with which the account
 * can spend more. So one RPC alone cannot stop all grants. When no second one has answered for a limit, one
 * is enough.
 */
#ifndef FAIRWAY_INGEST_FUNDS_WATCH_H
#define FAIRWAY_INGEST_FUNDS_WATCH_H

#include <pthread.h>

#include "pool/funds.h"
#include "pool/settle.h"
#include "feed.h"
#include "retry.h"

/* What the thread has to read. */
struct funds_request {
    struct public_key account;
    int64_t base_reserve_stroops; /* to compare two answers */
    uint32_t ledger;              /* the last one that was committed */
};

struct funds_watch {
    struct funds_limits limits;
    struct feed feeds[RPC_ADDRESSES_MAX]; /* one for each address; the thread calls feed.accounts */
    size_t count;
    size_t next;               /* of feeds, to be asked first */
    struct outage unconfirmed; /* only one feed has answered */
    enum funds_level level;    /* the one that was logged last */
    uint32_t doubted_ledger;   /* see struct funds; read until something as of it or later is known */
    int64_t reread_ms;         /* when the account is read again although it is known */
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool stopping;
    bool wanted; /* the thread must read this: */
    struct funds_request request;
    bool ready; /* the thread has read this, and funds_watch_take has not returned it yet: */
    struct account_snapshot snapshot;
};

void funds_watch_start(
    struct funds_watch *watch, const struct feed feeds[], size_t count, const struct funds_limits *limits);
/* Ends the thread. Waits for its request in progress, which the caller has cancelled. */
void funds_watch_stop(struct funds_watch *watch);

/* Returns in *out what was read since the last call; false: nothing was read. Never blocks. */
bool funds_watch_take(struct funds_watch *watch, struct account_snapshot *out);

/* To be called after each ledger, with what is known after it: logs a change of level, and has the thread
 * read the account when it is time. Never blocks. */
void funds_watch_ledger(struct funds_watch *watch, uint32_t ledger, const struct funds *funds);

/*
 * What is known of the distribution account after a ledger; pure. Computes *after for this ledger, which
 * follows the one at cursor. read (NULL: none) is the account as the RPC returned it. It is used only if it
 * is as of the cursor or a later ledger, because the ledgers in between may have changed the account, and
 * only if nothing later is known. limits: NULL, or what the metadata alone says counts only if it is enough
 * for leases; else it is left out, and after->doubted_ledger is set. Returns whether anything changed.
 */
bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *read,
    uint32_t cursor, const struct funds_limits *limits, struct funds *after);

#endif
