/*
 * A database, a feed of built ledgers, and replicas that ingest from it with short polls. Everything here
 * fails the test when it goes wrong.
 */
#ifndef FAIRWAY_TESTS_INGEST_WORLD_H
#define FAIRWAY_TESTS_INGEST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ingest/ingest.h"
#include "ledger_feed.h"
#include "pg.h"

#define FIRST 100 /* the feed's first ledger */
#define PATIENCE_MS 20000
#define STALE_MS 500
#define POLL_MS 20

struct ingest_world {
    struct test_db db;
    struct ledger_feed *feed;
    struct ingest *ingest; /* stopped by the tear-down; may be NULL */
};

/* For cmocka: *state is a struct ingest_world of its own, in which no replica runs yet. */
int ingest_world_set_up(void **state);
int ingest_world_tear_down(void **state);

/* What ingest_world_start uses. */
struct ingest_settings ingest_world_settings(const struct ingest_world *world);
struct ingest *ingest_world_start(struct ingest_world *world);
struct ingest *ingest_world_start_with(const struct ingest_settings *settings, const struct feed *feed);

/* Closes empty ledgers. */
void close_ledgers(struct ingest_world *world, unsigned count);

/* The ledger of the cursor; 0: there is none. */
int64_t cursor_of(const struct ingest_world *world);
void await_cursor(const struct ingest_world *world, uint32_t sequence);
/* Waits until the query's one number is this. */
void await_number(const struct ingest_world *world, const char *sql, int64_t number);
/* Waits until the replica is not ready, for a reason that says word. */
void await_red(struct ingest *ingest, const char *word);
void await_green(struct ingest *ingest);

#endif
