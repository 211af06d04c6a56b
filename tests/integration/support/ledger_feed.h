/*
 * A network of built ledgers, and an RPC in front of it that can be told to misbehave. Thread-safe: the test
 * closes ledgers while an ingester reads.
 */
#ifndef FAIRWAY_TESTS_LEDGER_FEED_H
#define FAIRWAY_TESTS_LEDGER_FEED_H

#include "../../../src/ingest/feed.h"
#include "ledger_builder.h"

struct ledger_feed;

/* Has the one ledger `first`, closed now less age_s; each later one closes a second after the one before. */
struct ledger_feed *ledger_feed_new(uint32_t first, unsigned age_s);
void ledger_feed_free(struct ledger_feed *feed);

/* Closes the next ledger. what (NULL: empty) gives transactions and accounts; a close time above 0 is taken.
 */
void ledger_feed_close(struct ledger_feed *feed, const struct built_ledger *what);

uint32_t ledger_feed_latest(struct ledger_feed *feed);

/* The ledgers in the form of the RPC client's answer; sequence must be there. meta lives as long as feed. */
struct rpc_ledger ledger_feed_named(struct ledger_feed *feed, uint32_t sequence);
/* The metadata's bytes, to be spoiled. */
struct buf *ledger_feed_meta(struct ledger_feed *feed, uint32_t sequence);

/* What ingest_start_from takes. */
struct feed ledger_feed_source(struct ledger_feed *feed);
/* Ledgers below are not to be had any more. */
void ledger_feed_forget_below(struct ledger_feed *feed, uint32_t oldest);
/* Each request fails with this until it is ERR_OK again. */
void ledger_feed_fail(struct ledger_feed *feed, enum err e);
/* Only the nth request from now on fails (1: the next). */
void ledger_feed_fail_once(struct ledger_feed *feed, unsigned nth, enum err e);
/* An account as it is before the first ledger. */
void ledger_feed_put(struct ledger_feed *feed, const struct built_account *account);
/* Entries are read as of this many ledgers below the latest: the nth request's node lags by lags[n % count].
 */
#define FEED_LAGS_MAX 4
void ledger_feed_lag(struct ledger_feed *feed, const unsigned lags[], size_t count);
/* Transactions are found in the ledgers that are kept; with this, in those that are forgotten too. */
void ledger_feed_remember(struct ledger_feed *feed);
/* Which network it says to serve; "ingest test" if nothing is said. A literal. */
void ledger_feed_name(struct ledger_feed *feed, const char *passphrase);
/* Of which protocol it says to be; below 26 it does not know what frozen keys are. */
void ledger_feed_protocol(struct ledger_feed *feed, uint32_t protocol);
/* Refuses requests for more ledgers than this. */
void ledger_feed_at_most(struct ledger_feed *feed, uint32_t most);
/* Each request for accounts fails with this, and no other, until it is ERR_OK again. */
void ledger_feed_fail_accounts(struct ledger_feed *feed, enum err e);
/* Called before each request for accounts is answered, without any lock. */
void ledger_feed_on_read(struct ledger_feed *feed, void (*hook)(void *context), void *context);

/* Requests that were answered so far. */
unsigned ledger_feed_requests(struct ledger_feed *feed);

#endif
