/* A lease engine on a pool with accounts, and clients that record when and how their tickets were decided. */
#pragma once

#include "pool.h"
#include "engine_waiting.h"
#include "grant/engine.h"
#include "grant/watch.h"

struct test_engine {
    struct test_pool pool;
    struct engine *engine;
    struct watch *watch; /* listens for the engine */
    struct asked asked;  /* the request of every client that has no other */
};

/* A client of the engine. Its memory must stay until its ticket is decided. */
struct client {
    struct engine_ticket ticket; /* must be first: done casts the ticket to the client */
    int answers, rank; /* number of calls of done; the position of the last call among those of all clients */
    int64_t submitted_ms, answered_ms;
    int takes_ms; /* how long done runs */
};

void test_engine_open(struct test_engine *engine, size_t accounts, unsigned threads);
/* Starts the engine again, with another key process or database; engine->engine must have been stopped. */
void test_engine_start(struct test_engine *engine, const char *database_url, unsigned threads);
void test_engine_stop(struct test_engine *engine);
/* Stops the engine first unless engine->engine is NULL. */
void test_engine_close(struct test_engine *engine);

/* Locks a table that every grant reads, until unblock_grants: a batch that is taken meanwhile waits, and
 * tickets that are submitted after it become one batch. */
struct db *block_grants(struct test_engine *engine);
void unblock_grants(struct db *holder);
/* Waits until every submitted ticket is in a batch. */
void await_taken(struct test_engine *engine);
/* Waits until so many tickets have found no account. From then on the engine claims for them when something
 * wakes it, not when time has passed. */
void await_shortage(struct test_engine *engine, size_t waiting);

/* Returns the engine's error when it does not take the ticket. */
enum err client_try_submit(struct test_engine *engine, struct client *client);
/* The ticket must be taken. */
void client_submit(struct test_engine *engine, struct client *client);
/* Waits until its ticket is decided, which must happen within limit_ms. */
void client_wait(struct client *client, int limit_ms);
bool client_answered(struct client *client);
/* Waits like client_wait; the ticket must have a lease. */
const struct lease *client_lease(struct client *client, int limit_ms);
/* Waits like client_wait; the ticket must be refused with e. */
void client_refused(struct client *client, enum err e, int limit_ms);
void clients_wipe(struct client clients[], size_t count);
