/*
 * A lease engine over a seeded pool, and clients whose tickets remember when and how they were answered.
 */
#ifndef FAIRWAY_TESTS_ENGINE_H
#define FAIRWAY_TESTS_ENGINE_H

#include "pool.h"
#include "grant/engine.h"

struct test_engine {
    struct test_pool pool;
    struct engine *engine;
    struct asked asked; /* what every client asks for, unless the test says otherwise */
};

/* A client at the engine. Its memory must stay until it is answered. */
struct client {
    struct engine_ticket ticket; /* first: done gets this */
    int answers, rank;           /* how often it was answered; the how manieth of all answers it was */
    int64_t submitted_ms, answered_ms;
    int takes_ms; /* to be answered */
};

void test_engine_open(struct test_engine *engine, size_t accounts, unsigned threads);
/* Once more with another key process or database; engine->engine must have been stopped. */
void test_engine_start(struct test_engine *engine, const char *database_url, unsigned threads);
/* The same with an address of its own for grants. */
void test_engine_start_through(
    struct test_engine *engine, const char *database_url, const char *database_direct_url, unsigned threads);
/* Stops the engine first unless engine->engine is NULL. */
void test_engine_close(struct test_engine *engine);

/* Locks what every grant reads, until let_go: a batch that is taken meanwhile waits, and what is submitted
 * after it becomes one batch. */
struct db *hold_grants(struct test_engine *engine);
void let_go(struct db *holder);
/* Waits until everything that was submitted is in a batch. */
void await_taken(struct test_engine *engine);

/* Does not fail when the ticket is not taken. */
enum err client_try_submit(struct test_engine *engine, struct client *client);
void client_submit(struct test_engine *engine, struct client *client);
/* Waits for its one answer, which must come within limit_ms. */
void client_wait(struct client *client, int limit_ms);
bool client_answered(struct client *client);
/* Waits for it, and that it is a lease. */
const struct lease *client_lease(struct client *client, int limit_ms);
/* Waits for it, and that it is this refusal. */
void client_refused(struct client *client, enum err e, int limit_ms);
void clients_wipe(struct client clients[], size_t count);

#endif
