/*
 * Each request has one deadline: wherever in a grant the database or the key process stops replying, the
 * request is decided within ENGINE_ANSWER_MS, and the outcome of a COMMIT without a reply is looked up before
 * that. About 40 s, because the tests wait for that deadline.
 */
#include "support/engine.h"

#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/proxy.h"
#include "slowness.h"

#define ANSWER_MS (ENGINE_ANSWER_MS + 100)
#define IN_TIME_MS (ENGINE_ANSWER_MS + slower(100))

/* An engine with one worker whose connection goes through a proxy; no other connection does. A first client
 * has a lease. */
struct silenced {
    struct test_engine engine;
    struct proxy *proxy;
    struct client first;
};

static void silenced_open(struct silenced *silenced, size_t accounts)
{
    test_engine_open(&silenced->engine, accounts, 1);
    test_engine_stop(&silenced->engine);
    silenced->proxy = proxy_new(test_pg_port());
    AUTO_FREE char *through = test_db_url_through(&silenced->engine.pool.test, proxy_port(silenced->proxy));
    test_engine_start(&silenced->engine, through, 1);
    silenced->first = (struct client){0};
    client_submit(&silenced->engine, &silenced->first);
    client_lease(&silenced->first, 3000);
}

/* The client waits for half of its time, less on a slow machine, until a ledger ends the first client's
 * lease; the rest is left for the grant. */
static void wait_for_account(struct silenced *silenced, struct client *client)
{
    const struct lease *lease = &silenced->first.ticket.grant.lease;
    client_submit(&silenced->engine, client);
    clock_sleep_ms((int)(ENGINE_WAIT_MS / 2 * 1000 / slower(1000)));
    assert_false(client_answered(client));
    test_pool_include(silenced->engine.pool.db, &lease, 1);
}

static void silenced_close(struct silenced *silenced)
{
    test_engine_stop(&silenced->engine);
    clients_wipe(&silenced->first, 1);
    proxy_free(silenced->proxy);
    test_engine_close(&silenced->engine);
}

static int64_t answered_after_ms(const struct client *client)
{
    return client->answered_ms - client->submitted_ms;
}

/* The proxy does this with a packet that has the leases and COMMIT. On a slow machine the outcome may not be
 * found in time; then it is tried again. */
static void lose_a_COMMIT(enum proxy_fault fault, const char *what)
{
    for (int64_t tries = slower(1000) / 1000; tries > 0; tries--) {
        struct silenced silenced;
        struct client client = {0};
        const struct grant *grant = &client.ticket.grant;
        silenced_open(&silenced, 1);
        proxy_arm(silenced.proxy, fault, "fairway.record_leases");
        wait_for_account(&silenced, &client);
        client_wait(&client, ANSWER_MS);
        if (tries == 1 || grant->state == GRANT_DONE || grant->error != ERR_OUTCOME_UNKNOWN) {
            tries = 1;
            assert_lease_signed(&silenced.engine.pool, client_lease(&client, 0));
            print_message("%s: answered after %d ms\n", what, (int)answered_after_ms(&client));
            assert_int_equal(lease_rows(&silenced.engine.pool), 2);
        }
        silenced_close(&silenced);
        clients_wipe(&client, 1);
    }
}

TEST(DX7_a_COMMIT_without_a_reply_is_looked_up_in_time)
{
    lose_a_COMMIT(PROXY_SILENT_AFTER, "a COMMIT without an answer");
}

TEST(DX7_a_COMMIT_that_never_arrives_is_found_aborted_and_its_batch_is_retried_in_time)
{
    lose_a_COMMIT(PROXY_SILENT, "a COMMIT that never arrived");
}

/* The request has waited for half of its time when the database stops replying. The server's own timeouts
 * would end the batch six seconds later. */
TEST(DX7_a_running_batch_ends_at_the_deadline_of_its_oldest_request)
{
    struct silenced silenced;
    struct client client = {0};
    silenced_open(&silenced, 1); /* and the only account is leased */
    client_submit(&silenced.engine, &client);
    clock_sleep_ms(ENGINE_WAIT_MS / 2);
    assert_false(client_answered(&client));
    proxy_arm(silenced.proxy, PROXY_SILENT, "claim_accounts");
    client_refused(&client, ERR_DATABASE_UNAVAILABLE, ANSWER_MS);
    print_message(
        "a batch whose server stops responding: answered after %d ms\n", (int)answered_after_ms(&client));
    assert_in_range(answered_after_ms(&client), ENGINE_WAIT_MS / 2, IN_TIME_MS);
    silenced_close(&silenced);
    clients_wipe(&client, 1);
}

/* Only how many requests wait would have been committed. */
TEST(DX7_a_lost_COMMIT_that_records_no_lease_is_no_unknown_outcome)
{
    struct silenced silenced;
    struct client client = {0};
    silenced_open(&silenced, 1); /* and the only account is leased */
    proxy_arm(silenced.proxy, PROXY_SILENT_AFTER, "fairway.report_waiting");
    client_submit(&silenced.engine, &client);
    client_refused(&client, ERR_DATABASE_UNAVAILABLE, ANSWER_MS);
    silenced_close(&silenced);
}

/* Requests that wait for an account: the oldest one, and five with time left and a key each. */
#define YOUNGER 5
struct late_batch {
    struct test_engine engine;
    struct client holders[YOUNGER + 1], oldest, younger[YOUNGER];
    struct lease_request requests[YOUNGER];
    int64_t begun_ms;
};

static void late_batch_open(struct late_batch *late)
{
    *late = (struct late_batch){0};
    test_engine_open(&late->engine, YOUNGER + 1, 2);
    for (size_t i = 0; i <= YOUNGER; i++)
        client_submit(&late->engine, &late->holders[i]);
    for (size_t i = 0; i <= YOUNGER; i++)
        client_lease(&late->holders[i], 3000);
    client_submit(&late->engine, &late->oldest);
    late->begun_ms = clock_ms();
    clock_sleep_ms(ENGINE_WAIT_MS - 3500);
    for (size_t i = 0; i < YOUNGER; i++) {
        late->requests[i] = late->engine.asked.request;
        snprintf(late->requests[i].idempotency_key, sizeof late->requests[i].idempotency_key, "key %zu", i);
        late->younger[i].ticket.grant.request = &late->requests[i];
        client_submit(&late->engine, &late->younger[i]);
    }
}

static void late_batch_release(struct late_batch *late)
{
    const struct lease *held[YOUNGER + 1];
    for (size_t i = 0; i <= YOUNGER; i++)
        held[i] = &late->holders[i].ticket.grant.lease;
    test_pool_include(late->engine.pool.db, held, YOUNGER + 1);
}

static void late_batch_close(struct late_batch *late)
{
    for (size_t i = 0; i < YOUNGER; i++)
        client_lease(&late->younger[i], 2000);
    test_engine_close(&late->engine);
    clients_wipe(late->holders, YOUNGER + 1);
    clients_wipe(late->younger, YOUNGER);
}

/* The batch fails at the deadline of its oldest request. */
TEST(a_stall_refuses_only_the_requests_that_have_no_time_left)
{
    struct late_batch late;
    late_batch_open(&late);
    /* a claim waits for the lock for less than DB_LOCK_MS */
    clock_sleep_ms(clock_left_ms(late.begun_ms + ENGINE_ANSWER_MS - DB_LOCK_MS + 300));
    struct db *holder = block_grants(&late.engine);
    client_refused(&late.oldest, ERR_DATABASE_UNAVAILABLE, 2000);
    unblock_grants(holder);
    late_batch_release(&late);
    late_batch_close(&late);
}

/* COMMIT lasts for longer than the oldest request has. The key of each other one says what became of it. */
TEST(DX7_a_slow_COMMIT_leaves_only_the_oldest_request_of_its_batch_without_an_answer)
{
    struct late_batch late;
    late_batch_open(&late);
    test_db_exec(&late.engine.pool.test,
        "CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON fairway.leases DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION wait_for_test()");
    clock_sleep_ms(clock_left_ms(late.begun_ms + ENGINE_ANSWER_MS - 1000));
    struct db *holder = test_db_open(&late.engine.pool.test);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(db_query(holder, DB_SQL0("SELECT pg_advisory_xact_lock(7)"), NULL, NULL), ERR_OK);
    late_batch_release(&late);
    client_refused(&late.oldest, ERR_OUTCOME_UNKNOWN, 2000);
    unblock_grants(holder);
    for (size_t i = 0; i < YOUNGER; i++)
        client_lease(&late.younger[i], 2000);
    assert_int_equal(lease_rows(&late.engine.pool), 2 * (YOUNGER + 1));
    late_batch_close(&late);
}

/* The key process continues before its answer counts as lost, so that the next lease is granted. */
TEST(DX7_a_frozen_key_process_delays_no_request_beyond_its_deadline)
{
    struct test_engine engine;
    struct client first = {0}, late = {0}, next = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &first);
    const struct lease *lease = client_lease(&first, 3000);
    client_submit(&engine, &late); /* no account is idle for it */
    clock_sleep_ms(ENGINE_WAIT_MS - 1000);
    assert_int_equal(kill(keyd_pid(engine.pool.keyd), SIGSTOP), 0);
    test_pool_include(engine.pool.db, &lease, 1);
    client_refused(&late, ERR_KEYD_UNAVAILABLE, ANSWER_MS);
    print_message("a frozen key process: answered after %d ms\n", (int)answered_after_ms(&late));
    assert_in_range(answered_after_ms(&late), ENGINE_WAIT_MS, IN_TIME_MS);
    assert_int_equal(lease_rows(&engine.pool), 1);
    assert_int_equal(kill(keyd_pid(engine.pool.keyd), SIGCONT), 0);
    client_submit(&engine, &next);
    assert_lease_signed(&engine.pool, client_lease(&next, 3000));
    test_engine_close(&engine);
    clients_wipe(&first, 1);
    clients_wipe(&late, 1);
    clients_wipe(&next, 1);
}

TEST(DX7_a_frozen_database_is_reported_and_delays_no_request_beyond_its_deadline)
{
    struct test_engine engine;
    struct client clients[200] = {0};
    test_engine_open(&engine, 4, 2);
    for (size_t i = 0; i < 4; i++) {
        client_submit(&engine, &clients[i]);
        client_lease(&clients[i], 3000);
    }
    client_submit(&engine, &clients[4]); /* no account is idle for it */
    clock_sleep_ms(200);
    test_pg_freeze();
    for (size_t i = 5; i < ARRAY_LEN(clients); i++) {
        clients[i].ticket.wait_ms = i % 2 * 60000; /* which is no reason to wait for the database */
        client_submit(&engine, &clients[i]);
    }
    int64_t latest_ms = 0;
    for (size_t i = 4; i < ARRAY_LEN(clients); i++) {
        client_wait(&clients[i], ANSWER_MS + 1000);
        assert_int_equal(clients[i].ticket.grant.error, ERR_DATABASE_UNAVAILABLE);
        latest_ms = answered_after_ms(&clients[i]) > latest_ms ? answered_after_ms(&clients[i]) : latest_ms;
    }
    const int64_t begun_ms = clock_ms();
    test_engine_stop(&engine);
    print_message(
        "answered after %d ms at most, stopped in %d ms\n", (int)latest_ms, (int)(clock_ms() - begun_ms));
    assert_in_range(latest_ms, 0, IN_TIME_MS);
    test_pg_thaw();
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

TEST(DO1_stopping_refuses_waiting_requests_before_it_waits_for_the_database)
{
    struct test_engine engine;
    struct client clients[300] = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &clients[0]);
    client_lease(&clients[0], 3000);
    client_submit(&engine, &clients[1]);
    clock_sleep_ms(200);
    test_pg_freeze();
    for (size_t i = 2; i < ARRAY_LEN(clients); i++)
        client_submit(&engine, &clients[i]);
    clock_sleep_ms(700); /* each worker has a batch */
    const size_t waiting = engine_waiting(engine.engine);
    const int64_t begun_ms = clock_ms();
    test_engine_stop(&engine);
    size_t at_once = 0;
    for (size_t i = 1; i < ARRAY_LEN(clients); i++) {
        client_wait(&clients[i], 0);
        at_once += clients[i].answered_ms - begun_ms < slower(500);
    }
    print_message("%zu of %zu waiting requests were refused at once\n", at_once, waiting);
    assert_true(at_once >= waiting);
    assert_true(waiting > 0);
    test_pg_thaw();
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
