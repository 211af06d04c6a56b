/*
 * The lease engine's queue: first come, first served; woken by ledgers; bounded in time. Failures around it
 * are in test_engine_faults; that each request is decided once in test_engine_cancel.
 */
#include "support/engine.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

#define SOON_MS 2000

TEST(DL7_waiting_requests_are_granted_in_order_when_a_ledger_releases_accounts)
{
    struct test_engine engine;
    struct client clients[8] = {0};
    test_engine_open(&engine, 1, 2);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        client_submit(&engine, &clients[i]);
        if (i == 0) /* the first one takes the account */
            assert_lease_signed(&engine.pool, client_lease(&clients[0], SOON_MS));
    }
    for (size_t i = 0; i + 1 < ARRAY_LEN(clients); i++) {
        await_shortage(&engine, ARRAY_LEN(clients) - 1 - i);
        const struct lease *lease = client_lease(&clients[i], 0);
        for (size_t later = i + 1; later < ARRAY_LEN(clients); later++)
            assert_false(client_answered(&clients[later]));
        assert_int_equal(test_pool_include(engine.pool.db, &lease, 1).released, 1);
        assert_int_equal(client_lease(&clients[i + 1], SOON_MS)->sequence, lease->sequence + 1);
    }
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

TEST(clients_take_turns_and_each_request_waits_as_long_as_it_asks)
{
    struct test_engine engine;
    struct client holders[3] = {0}, early[3] = {0}, other = {0};
    struct client *const order[] = {&early[0], &other, &early[2]}; /* early[1] asks for no wait */
    uint64_t had = 0, others = 0;
    test_engine_open(&engine, ARRAY_LEN(holders), 2);
    other.ticket.had = &others;
    early[0].ticket.had = early[1].ticket.had = early[2].ticket.had = &had;
    other.ticket.wait_ms = early[0].ticket.wait_ms = early[2].ticket.wait_ms = 60000;
    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        client_submit(&engine, &holders[i]);
        (void)client_lease(&holders[i], SOON_MS);
    }
    const struct lease *lease = client_lease(&holders[0], 0);
    for (size_t i = 0; i < ARRAY_LEN(early); i++)
        client_submit(&engine, &early[i]);
    client_submit(&engine, &other);
    await_shortage(&engine, 4);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_int_equal(test_pool_include(engine.pool.db, &lease, 1).released, 1);
        lease = client_lease(order[i], SOON_MS);
        if (i != 1)
            continue;
        for (int k = 0; k < 3; k++)
            engine_released(engine.engine); /* also submissions that are rejected tell the engine */
        client_refused(&early[1], ERR_CHANNEL_ACCOUNT_UNAVAILABLE, ENGINE_WAIT_MS + SOON_MS);
        assert_int_equal(early[1].ticket.ledgers, 1 + 2 / 2); /* two waited for two accounts a ledger */
    }
    test_engine_close(&engine);
    clients_wipe(holders, ARRAY_LEN(holders));
    clients_wipe(early, ARRAY_LEN(early));
    clients_wipe(&other, 1);
}

struct submitter {
    struct test_engine *engine;
    struct client *client;
    pthread_t thread;
};

static void *submit(void *context)
{
    struct submitter *submitter = context;
    client_submit(submitter->engine, submitter->client);
    return NULL;
}

TEST(DL10_of_64_requests_for_one_account_one_is_granted_and_the_others_time_out_after_6_seconds)
{
    struct test_engine engine;
    struct client clients[64] = {0};
    struct submitter submitters[64];
    size_t granted = 0;
    test_engine_open(&engine, 1, 4);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        submitters[i] = (struct submitter){.engine = &engine, .client = &clients[i]};
        assert_int_equal(pthread_create(&submitters[i].thread, NULL, submit, &submitters[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        pthread_join(submitters[i].thread, NULL);
        client_wait(&clients[i], ENGINE_WAIT_MS + SOON_MS);
        if (clients[i].ticket.grant.state == GRANT_DONE) {
            granted++;
            continue;
        }
        client_refused(&clients[i], ERR_CHANNEL_ACCOUNT_UNAVAILABLE, 0);
        assert_in_range(
            clients[i].answered_ms - clients[i].submitted_ms, ENGINE_WAIT_MS, ENGINE_WAIT_MS + slower(500));
    }
    assert_int_equal(granted, 1);
    assert_int_equal(lease_rows(&engine.pool), 1);
    assert_int_equal(leased_accounts(&engine.pool), 1);
    assert_int_equal(engine_waiting(engine.engine), 0);
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

TEST(a_full_queue_refuses_at_once)
{
    struct test_engine engine;
    struct client first = {0}, *waiting = NEW_ARRAY(ENGINE_QUEUE_MAX, struct client), late = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &first);
    client_lease(&first, SOON_MS);
    client_submit(&engine, &waiting[0]); /* no account is idle for it and all that follow */
    for (size_t i = 1; i < ENGINE_QUEUE_MAX; i++)
        client_submit(&engine, &waiting[i]);
    assert_int_equal(client_try_submit(&engine, &late), ERR_OVERLOADED);
    int64_t begun_ms = clock_ms();
    test_engine_stop(&engine);
    print_message(
        "with %d requests waiting, stopped in %d ms\n", ENGINE_QUEUE_MAX, (int)(clock_ms() - begun_ms));
    engine.engine = NULL;
    for (size_t i = 0; i < ENGINE_QUEUE_MAX; i++)
        client_refused(&waiting[i], ERR_SHUTTING_DOWN, 0);
    assert_int_equal(late.answers, 0);
    test_engine_close(&engine);
    clients_wipe(&first, 1);
    free(waiting);
}

/* ---- requests that need no account do not wait for one */

TEST(a_request_that_cannot_be_granted_is_refused_at_once_when_no_account_is_idle)
{
    struct test_engine engine;
    struct client holder = {0}, waiting = {0}, refused[4] = {0};
    struct asked asked[4];
    static const enum err expected[4] = {
        ERR_INVALID_TRANSACTION, ERR_INVALID_TRANSACTION, ERR_INVALID_TRANSACTION, ERR_FORBIDDEN_SIGNER};
    test_engine_open(&engine, 1, 2);
    for (size_t i = 0; i < 4; i++) {
        ask(&engine.pool, &asked[i]);
        refused[i].ticket.grant.request = &asked[i].request;
    }
    asked[0].request.envelope.preconditions.max_time_s = 1; /* past */
    asked[1].request.envelope.preconditions.max_ledger = 2;
    asked[2].request.envelope.preconditions.min_time_s = INT64_MAX;
    asked[3].request.named.keys[0] = engine.pool.accounts[0];
    client_submit(&engine, &holder);
    client_lease(&holder, SOON_MS);
    client_submit(&engine, &waiting);
    await_shortage(&engine, 1);
    for (size_t i = 0; i < 4; i++) {
        client_submit(&engine, &refused[i]);
        client_refused(&refused[i], expected[i], SOON_MS);
    }
    assert_false(client_answered(&waiting));
    test_engine_close(&engine);
    clients_wipe(&holder, 1);
    for (size_t i = 0; i < 4; i++)
        asked_wipe(&asked[i]);
}

/* Accounts that a batch quarantines do not count as a shortage. */
TEST(broken_seeds_delay_no_request_while_other_accounts_are_idle)
{
    struct test_engine engine;
    struct client clients[20] = {0};
    test_engine_open(&engine, 60, 2);
    test_db_exec(&engine.pool.test,
        "UPDATE fairway.channel_accounts SET sealed_seed = set_byte(sealed_seed, 40,"
        " 255 - get_byte(sealed_seed, 40)) WHERE slot % 3 <> 0");
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        client_submit(&engine, &clients[i]);
        for (; !client_answered(&clients[i]); clock_sleep_ms(1)) /* within ENGINE_ANSWER_MS */
            engine_claim_waits(engine.engine);
        client_lease(&clients[i], 0);
    }
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
