/*
 * engine_cancel: wherever a ticket is when its client leaves, it is decided exactly once, and no account is
 * leased for it unless its batch runs already.
 */
#include "support/engine.h"
#include "slowness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define SOON_MS 3000

TEST(H9_a_cancelled_ticket_leaves_the_queue_at_once_and_takes_no_account)
{
    struct test_engine engine;
    struct client holder = {0}, clients[5] = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &holder);
    const struct lease *lease = client_lease(&holder, SOON_MS);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        client_submit(&engine, &clients[i]);
    clock_sleep_ms(200); /* no account: all of them wait */
    static const size_t order[] = {2, 0, 4, 3};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        engine_cancel(engine.engine, &clients[order[i]].ticket);
        client_refused(
            &clients[order[i]], ERR_CANCELLED, 500); /* at once, or at the end of a claim that has it */
        clock_sleep_ms(30);
    }
    /* a worker may be trying it just now */
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); engine_waiting(engine.engine) != 1; clock_sleep_ms(1))
        assert_true(clock_left_ms(end_ms) > 0);
    test_pool_include(engine.pool.db, &lease, 1);
    client_lease(&clients[1], SOON_MS);
    assert_int_equal(lease_rows(&engine.pool), 2);
    test_engine_close(&engine);
    clients_wipe(&holder, 1);
    clients_wipe(clients, ARRAY_LEN(clients));
}

TEST(a_ticket_that_was_cancelled_before_is_not_taken)
{
    struct test_engine engine CLEANUP(test_engine_close);
    struct client client = {0};
    test_engine_open(&engine, 1, 2);
    client.ticket.grant.request = &engine.asked.request;
    engine_cancel(engine.engine, &client.ticket);
    assert_int_equal(engine_submit(engine.engine, &client.ticket), ERR_CANCELLED);
    clock_sleep_ms(50);
    assert_nothing_leased(&engine.pool);
}

/* Another transaction has locked the key: the ticket waits for its next attempt, outside of the queue. */
TEST(a_ticket_whose_key_is_locked_can_be_cancelled)
{
    struct test_engine engine CLEANUP(test_engine_close);
    struct client client = {0};
    struct asked asked CLEANUP(asked_wipe);
    test_engine_open(&engine, 1, 2);
    struct db *holder = test_db_open(&engine.pool.test);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    test_lock_key(holder);
    ask(&engine.pool, &asked);
    snprintf(asked.request.idempotency_key, sizeof asked.request.idempotency_key, "key");
    client.ticket.grant.request = &asked.request;
    client_submit(&engine, &client);
    clock_sleep_ms(300); /* the attempts are half a second apart by now */
    engine_cancel(engine.engine, &client.ticket);
    client_wait(&client, SOON_MS); /* at once, or at the end of an attempt that was running */
    client_refused(&client, ERR_CANCELLED, 0);
    db_rollback(holder);
    db_free(holder);
    assert_nothing_leased(&engine.pool);
}

TEST(a_ticket_in_a_batch_is_granted_if_it_can_be_and_else_refused_when_the_batch_ends)
{
    struct test_engine engine;
    struct client clients[2] = {0};
    test_engine_open(&engine, 1, 1);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) { /* there is an account for the first one only */
        struct db *holder = block_grants(&engine);
        client_submit(&engine, &clients[i]);
        await_taken(&engine);
        engine_cancel(engine.engine, &clients[i].ticket);
        clock_sleep_ms(50);
        assert_false(client_answered(&clients[i]));
        unblock_grants(holder);
        client_wait(&clients[i], 500); /* much less than a ticket waits in the queue */
    }
    client_lease(&clients[0], 0);
    client_refused(&clients[1], ERR_CANCELLED, 0);
    assert_int_equal(engine_waiting(engine.engine), 0);
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

/* ---- cancelled at any moment */

#define MANY 600
#define WAITING 40

struct race {
    struct test_engine *engine;
    struct client *clients;
    int taken[MANY]; /* 1: engine_submit took it, -1: it had been cancelled */
    bool included[MANY];
};

static void *submit_all(void *context)
{
    struct race *race = context;
    for (size_t i = 0; i < MANY; i++) {
        race->clients[i].takes_ms = 2; /* meanwhile others grant the tickets that this batch put back */
        enum err e = client_try_submit(race->engine, &race->clients[i]);
        __atomic_store_n(&race->taken[i], e == ERR_OK ? 1 : -1, __ATOMIC_SEQ_CST);
        if (i % 7 == 0)
            clock_sleep_ms(1);
        while (engine_waiting(race->engine->engine) > WAITING) /* so that none waits for too long */
            clock_sleep_ms(1);
    }
    return NULL;
}

/* Every second client leaves, about when it is submitted. */
static void *cancel_some(void *context)
{
    struct race *race = context;
    unsigned seed = 1;
    for (size_t i = 0; i < MANY; i += 2) {
        if (rand_r(&seed) % 3 != 0)
            while (__atomic_load_n(&race->taken[i], __ATOMIC_SEQ_CST) == 0)
                ;
        engine_cancel(race->engine->engine, &race->clients[i].ticket);
    }
    return NULL;
}

static bool is_over(struct race *race, size_t i)
{
    return __atomic_load_n(&race->taken[i], __ATOMIC_SEQ_CST) < 0 || client_answered(&race->clients[i]);
}

/* Includes every granted lease in a ledger, until all tickets are decided. */
static void include_all(struct race *race)
{
    for (size_t over = 0; over < MANY; clock_sleep_ms(2)) {
        const struct lease *leases[MANY];
        size_t count = 0;
        over = 0;
        for (size_t i = 0; i < MANY; i++) {
            if (!is_over(race, i))
                continue;
            over++;
            if (!race->included[i] && race->clients[i].ticket.grant.state == GRANT_DONE)
                leases[count++] = &race->clients[i].ticket.grant.lease;
            race->included[i] = true;
        }
        if (count > 0)
            assert_int_equal(test_pool_include(race->engine->pool.db, leases, count).confirmed, count);
    }
}

TEST(each_ticket_is_decided_once_whenever_it_is_cancelled)
{
    struct test_engine engine;
    struct race *race = NEW(struct race);
    pthread_t submitting, cancelling;
    size_t granted = 0, cancelled = 0, before = 0;
    test_engine_open(&engine, 7, 4);
    race->engine = &engine;
    race->clients = NEW_ARRAY(MANY, struct client);
    assert_int_equal(pthread_create(&submitting, NULL, submit_all, race), 0);
    assert_int_equal(pthread_create(&cancelling, NULL, cancel_some, race), 0);
    include_all(race);
    pthread_join(submitting, NULL);
    pthread_join(cancelling, NULL);
    for (size_t i = 0; i < MANY; i++) {
        const struct client *client = &race->clients[i];
        assert_int_equal(client->answers, race->taken[i] > 0);
        before += race->taken[i] < 0;
        granted += client->ticket.grant.state == GRANT_DONE;
        cancelled += client->answers == 1 && client->ticket.grant.error == ERR_CANCELLED;
        assert_true(
            i % 2 == 0 || client->ticket.grant.state == GRANT_DONE); /* those that are not cancelled */
    }
    print_message("of %d: %zu cancelled before they were taken, %zu while they waited; %zu leases\n", MANY,
        before, cancelled, granted);
    assert_int_equal(lease_rows(&engine.pool), granted);
    assert_int_equal(leased_accounts(&engine.pool), 0);
    assert_int_equal(engine_waiting(engine.engine), 0);
    test_engine_close(&engine);
    clients_wipe(race->clients, MANY);
    free(race->clients);
    free(race);
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
