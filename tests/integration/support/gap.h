/*
 * A gap: a database whose ingester stood still at GAP_CURSOR while the network went on and forgot. Account n
 * is built_key(n), its lease (sequence 51 of an account at 50) built_hash(n).
 */
#ifndef FAIRWAY_TESTS_GAP_H
#define FAIRWAY_TESTS_GAP_H

#include "../../../src/ingest/gap.h"
#include "ledger_feed.h"
#include "pool_rows.h"

#define GAP_CURSOR POOL_ROWS_LEDGER
#define GAP_NETWORK "ingest test"

struct gap_world {
    struct test_db db;
    struct ledger_feed *feed;
    struct network_id network;
    struct lead lead;       /* has committed GAP_CURSOR */
    struct settled settled; /* by the last recovery or ledger */
    struct detail detail;
};

struct gap_world *gap_world_new(void);
void gap_world_free(struct gap_world *world);

/* An account as database and network have it before the gap; creating: the database alone. */
void gap_account(struct gap_world *world, unsigned n, const char *state);
void gap_leased(struct gap_world *world, unsigned n);
/* All of 1 to count, at once, in an empty pool. */
void gap_leased_many(struct gap_world *world, unsigned count);

/* Closes a ledger that leaves account n at this sequence; with a code above INT32_MIN by the leased
 * transaction, with this result. */
#define BY_NOBODY INT32_MIN
void gap_close(struct gap_world *world, unsigned n, int64_t sequence, int32_t code);
/* Closes some more and forgets all but the last `keep` ledgers. */
void gap_open(struct gap_world *world, unsigned ledgers, unsigned keep);

enum err gap_world_recover(struct gap_world *world);
/* The ledger after the cursor, as live ingestion commits it. */
enum err gap_world_follow(struct gap_world *world);

/* Numbers from a fresh session. where speaks of accounts a and their last leases l. */
int64_t gap_count(struct gap_world *world, const char *where);
int64_t gap_cursor(struct gap_world *world);
bool gap_grants_allowed(struct gap_world *world);
/* Everything that a recovery may change, but for the suspension of grants, as one number. */
int64_t gap_fingerprint(struct gap_world *world);

#endif
