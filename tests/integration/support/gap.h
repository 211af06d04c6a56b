/*
 * A gap: the cursor of the database is at GAP_CURSOR, while the network went on and dropped ledgers. Account
 * n is built_key(n) at sequence 50; its lease is for sequence 51 and has the hash built_hash(n).
 */
#pragma once

#include "../../../src/ingest/gap.h"
#include "ledger_feed.h"
#include "pool_rows.h"

#define GAP_CURSOR POOL_ROWS_LEDGER
#define GAP_NETWORK BUILT_PASSPHRASE

struct gap_world {
    struct test_db db;
    struct ledger_feed *feed;
    struct network_id network;
    struct rpcs *rpcs; /* the feed, alone */
    struct follow follow;
    struct lead lead;       /* has committed GAP_CURSOR */
    struct settled settled; /* what the last recovery or ledger settled */
    struct detail detail;
};

struct gap_world *gap_world_new(void);
void gap_world_free(struct gap_world *world);

/* Before the gap: adds an account to database and network, or, in state creating, to the database alone. */
void gap_account(struct gap_world *world, unsigned n, const char *state);
/* Adds an active account with an open lease. */
void gap_leased(struct gap_world *world, unsigned n);
/* Adds the leased accounts 1 to count at once, to an empty pool. */
void gap_leased_many(struct gap_world *world, unsigned count);

/* Closes a ledger that leaves account n at this sequence: by the leased transaction with this result code,
 * or, with BY_NOBODY, by a transaction that the RPC does not find. */
#define BY_NOBODY INT32_MIN
void gap_close_ledger(struct gap_world *world, unsigned n, int64_t sequence, int32_t code);
/* Closes some more ledgers and drops all but the last `keep`. */
void gap_drop_ledgers(struct gap_world *world, unsigned ledgers, unsigned keep);

/* Runs gap_recover. */
enum err gap_world_recover(struct gap_world *world);
/* Commits the ledger after the cursor. */
enum err gap_world_follow(struct gap_world *world);

/* Counts the rows of accounts a, left-joined with leases l, that satisfy `where`. */
int64_t gap_count(struct gap_world *world, const char *where);
int64_t gap_cursor(struct gap_world *world);
bool gap_grants_allowed(struct gap_world *world);
/* Returns a hash of everything that a recovery may change, except whether grants are allowed. */
int64_t gap_fingerprint(struct gap_world *world);
