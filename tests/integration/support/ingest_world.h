/*
 * A database, a feed of built ledgers, and replicas that ingest from it with short polls. Every function
 * fails the test on an error.
 */
#pragma once

#include "check.h"
#include "ingest/ingest.h"
#include "ledger_feed.h"
#include "pg.h"

#define FIRST 100         /* the feed's first ledger */
#define PATIENCE_MS 20000 /* limit of every await_ function */
#define STALE_MS 500      /* stale_ms of the ingest_settings */
#define POLL_MS 20        /* poll_ms of the ingest_settings */

struct ingest_world {
    struct test_db db;
    struct ledger_feed *feed;
    struct feed source;    /* feed, as ingest_settings wants it */
    struct ingest *ingest; /* stopped by the tear-down; may be NULL */
};

/* For cmocka: *state is a new struct ingest_world, in which no replica runs yet. */
int ingest_world_set_up(void **state);
int ingest_world_tear_down(void **state);

/* The settings of ingest_world_start, to be changed for ingest_world_start_with. */
struct ingest_settings ingest_world_settings(const struct ingest_world *world);
struct ingest *ingest_world_start(struct ingest_world *world);
struct ingest *ingest_world_start_with(const struct ingest_settings *settings);

/* Closes empty ledgers. */
void close_ledgers(struct ingest_world *world, unsigned count);

/* Returns the ledger of the cursor, or 0 if there is none. */
int64_t cursor_of(const struct ingest_world *world);
void await_cursor(const struct ingest_world *world, uint32_t sequence);
/* Waits until the query returns this number. */
void await_number(const struct ingest_world *world, const char *sql, int64_t number);
/* Waits until the replica is not ready, with this word in its reason. */
void await_not_ready(struct ingest *ingest, const char *word);
void await_ready(struct ingest *ingest);
