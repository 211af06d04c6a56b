/*
 * A network of built ledgers, and an RPC for it that fails and lags as the test wants. Thread-safe: the test
 * closes ledgers while ingestion reads.
 */
#pragma once

#include "../../../src/ingest/ledger_commit.h"
#include "ingest/ingest.h"
#include "ledger_builder.h"

struct ledger_feed;

/* Has one ledger, number first, which closed age_s ago. Each later one closes a second after the one before.
 */
struct ledger_feed *ledger_feed_new(uint32_t first, unsigned age_s);
void ledger_feed_free(struct ledger_feed *feed);

/* Closes the next ledger, with the contents of what (NULL: an empty one). Its close time 0 stands for a
 * second after the ledger before. */
void ledger_feed_close(struct ledger_feed *feed, const struct built_ledger *what);

uint32_t ledger_feed_latest(struct ledger_feed *feed);

/* A ledger as the RPC returns it. The feed must have it; meta is valid as long as the feed. */
struct rpc_ledger ledger_feed_ledger(struct ledger_feed *feed, uint32_t sequence);
/* The ledger's metadata, which the test may change. */
struct buf *ledger_feed_meta(struct ledger_feed *feed, uint32_t sequence);

/* The feed as the interface that ingestion reads. */
struct feed ledger_feed_source(struct ledger_feed *feed);
/* Drops the ledgers below oldest. */
void ledger_feed_drop_below(struct ledger_feed *feed, uint32_t oldest);
/* Each request fails with this until e is ERR_OK again. */
void ledger_feed_fail(struct ledger_feed *feed, enum err e);
/* The nth request from now on fails, and no other (1: the next). */
void ledger_feed_fail_once(struct ledger_feed *feed, unsigned nth, enum err e);
/* Sets the state of an account before the first ledger. */
void ledger_feed_put(struct ledger_feed *feed, const struct built_account *account);
/* The nth request for entries is answered as of the latest ledger minus lags[n % count]. */
#define FEED_LAGS_MAX 4
void ledger_feed_lag(struct ledger_feed *feed, const unsigned lags[], size_t count);
/* From now on transactions of dropped ledgers are found too. */
void ledger_feed_keep_transactions(struct ledger_feed *feed);
/* Changes the network that it serves, at first BUILT_PASSPHRASE. passphrase is borrowed. */
void ledger_feed_passphrase(struct ledger_feed *feed, const char *passphrase);
/* From now on requests for more ledgers than this are refused. */
void ledger_feed_limit(struct ledger_feed *feed, uint32_t most);
/* Each request for accounts fails with this until e is ERR_OK again. */
void ledger_feed_fail_accounts(struct ledger_feed *feed, enum err e);
/* Calls hook before each answer to a request for accounts, without holding the feed's lock. */
void ledger_feed_on_read(struct ledger_feed *feed, void (*hook)(void *context), void *context);

/* Number of requests so far. */
unsigned ledger_feed_requests(struct ledger_feed *feed);
