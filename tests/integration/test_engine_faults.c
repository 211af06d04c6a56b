/*
 * The lease engine when something around it fails: an item that the database refuses, a batch that is rolled
 * back, a database that restarts; and stopping.
 */
#include "support/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "slowness.h"

#define SOON_MS 3000

static const char sql_refuse_bad[] =
    "ALTER TABLE fairway.leases ADD CONSTRAINT planted CHECK (request_id <> 'bad')";

static void ask_as(struct test_engine *engine, struct asked *asked, const char *request_id)
{
    ask(&engine->pool, asked);
    snprintf(asked->request.request_id, sizeof asked->request.request_id, "%s", request_id);
}

/* All but the first are one batch; the one of client 5 is bad. */
static void submit_bad_batch(
    struct test_engine *engine, struct asked *bad, const char *plant, struct client clients[], size_t count)
{
    test_engine_open(engine, 12, 1);
    ask_as(engine, bad, "bad");
    test_db_exec(&engine->pool.test, plant);
    struct db *holder = block_grants(engine);
    clients[5].ticket.grant.request = &bad->request;
    for (size_t i = 0; i < count; i++) {
        client_submit(engine, &clients[i]);
        if (i == 0)
            await_taken(engine);
    }
    assert_int_equal(engine_waiting(engine->engine), count - 1);
    unblock_grants(holder);
}

TEST(an_item_that_the_database_refuses_fails_alone)
{
    struct test_engine engine;
    struct client clients[10] = {0};
    struct asked bad CLEANUP(asked_wipe);
    submit_bad_batch(&engine, &bad, sql_refuse_bad, clients, ARRAY_LEN(clients));
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        if (i != 5)
            client_lease(&clients[i], SOON_MS);
    client_refused(&clients[5], ERR_CONSTRAINT, SOON_MS);
    assert_int_equal(leased_accounts(&engine.pool), ARRAY_LEN(clients) - 1);
    assert_int_equal(lease_rows(&engine.pool), ARRAY_LEN(clients) - 1);
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

/* As when this item and others never agree about a limit. Those that run alone are slow: the ones for which
 * no time is left are one failure, because three in a row make the replica not ready. */
TEST(an_item_that_makes_its_batch_run_again_for_ever_fails_alone)
{
    struct test_engine engine;
    struct client clients[10] = {0};
    struct asked bad CLEANUP(asked_wipe);
    submit_bad_batch(&engine, &bad,
        "CREATE FUNCTION public.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF EXISTS (SELECT FROM added WHERE request_id = 'bad') THEN RAISE serialization_failure; END IF;"
        " PERFORM pg_sleep(1.5); RETURN NULL; END $$;"
        " CREATE TRIGGER planted AFTER INSERT ON fairway.leases REFERENCING NEW TABLE AS added"
        " FOR EACH STATEMENT EXECUTE FUNCTION public.planted()",
        clients, ARRAY_LEN(clients));
    client_lease(&clients[1], 2 * SOON_MS);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        client_wait(&clients[i], ENGINE_ANSWER_MS + SOON_MS);
    assert_true(engine_outcome(engine.engine, TICKET_LEASE).failures < 3);
    test_engine_close(&engine);
    clients_wipe(clients, ARRAY_LEN(clients));
}

/* As a lock that others hold. */
static const char sql_lock_slow[] =
    "CREATE FUNCTION public.lock() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(1.1); RAISE EXCEPTION 'planted' USING ERRCODE = 'lock_not_available'; END $$;"
    " CREATE TRIGGER lock AFTER INSERT ON fairway.leases FOR EACH ROW WHEN (NEW.request_id = 'slow')"
    " EXECUTE FUNCTION public.lock()";

/* They run alone, because the database refuses the first: what became of the last one says nothing of the one
 * before it, which may have a lease of an earlier batch. */
TEST(an_item_of_unknown_outcome_stays_so_when_another_one_of_its_batch_is_granted)
{
    enum {
        FIRST,
        BAD,
        SLOW,
        LAST,
        COUNT
    };
    static const char *const ids[COUNT] = {[BAD] = "bad", [SLOW] = "slow"};
    struct test_engine engine;
    struct client clients[COUNT] = {0};
    struct asked asked[COUNT] = {0};
    test_engine_open(&engine, COUNT, 1);
    test_db_exec(&engine.pool.test, sql_refuse_bad);
    test_db_exec(&engine.pool.test, sql_lock_slow);
    struct db *holder = block_grants(&engine);
    clients[SLOW].ticket.is_unknown = true;
    for (size_t i = 0; i < COUNT; i++) {
        if (ids[i] != NULL) {
            ask_as(&engine, &asked[i], ids[i]);
            clients[i].ticket.grant.request = &asked[i].request;
        }
        client_submit(&engine, &clients[i]);
        if (i == FIRST)
            await_taken(&engine);
    }
    unblock_grants(holder);
    client_lease(&clients[FIRST], SOON_MS);
    client_refused(&clients[BAD], ERR_CONSTRAINT, 2 * SOON_MS);
    client_lease(&clients[LAST], 2 * SOON_MS);
    assert_true(clients[SLOW].ticket.is_unknown);
    test_db_exec(&engine.pool.test,
        "CREATE OR REPLACE FUNCTION public.lock() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RETURN NEW; END $$");
    client_lease(&clients[SLOW], 2 * SOON_MS);
    test_engine_close(&engine);
    clients_wipe(clients, COUNT);
    asked_wipe(&asked[BAD]);
    asked_wipe(&asked[SLOW]);
}

/* Batches with a request of the id slow or bad stall when they record their leases, until resume; those with
 * bad fail then. */
static const char sql_stall[] =
    "CREATE SEQUENCE public.resumed; CREATE FUNCTION public.planted() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN IF NEW.request_id IN ('slow', 'bad') THEN"
    " WHILE NOT (SELECT r.is_called FROM public.resumed r) LOOP PERFORM pg_sleep(0.01); END LOOP; END IF;"
    " IF NEW.request_id = 'bad' THEN RAISE EXCEPTION 'planted'; END IF;"
    " RETURN NULL; END $$;"
    "CREATE TRIGGER planted AFTER INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.planted()";

static void await_stalled(struct test_engine *engine)
{
    static const char sql[] = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                              " AND datname = current_database()";
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); test_db_number(&engine->pool.test, sql) == 0;)
        assert_true(clock_left_ms(end_ms) > 0);
}

static void resume(struct test_engine *engine)
{
    test_db_exec(&engine->pool.test, "SELECT setval('public.resumed', 1, true)");
}

static void stall_again(struct test_engine *engine)
{
    test_db_exec(&engine->pool.test, "SELECT setval('public.resumed', 1, false)");
}

#define ROUNDS 3

/* A claim locks the only account, another request finds none, and then the claim fails. */
TEST(a_claim_that_is_rolled_back_wakes_waiting_requests)
{
    struct test_engine engine CLEANUP(test_engine_close);
    struct asked bad CLEANUP(asked_wipe);
    test_engine_open(&engine, 1, 2);
    ask_as(&engine, &bad, "bad");
    test_db_exec(&engine.pool.test, sql_stall);
    for (int round = 0; round < ROUNDS; round++) {
        struct client clients[2] = {0};
        clients[0].ticket.grant.request = &bad.request;
        client_submit(&engine, &clients[0]);
        await_stalled(&engine);
        client_submit(&engine, &clients[1]);
        await_shortage(&engine, 1);
        resume(&engine);
        client_refused(&clients[0], ERR_CONSTRAINT, SOON_MS);
        const struct lease *lease = client_lease(&clients[1], SOON_MS);
        test_pool_include(engine.pool.db, &lease, 1);
        clients_wipe(clients, ARRAY_LEN(clients));
        stall_again(&engine);
    }
}

/* The batch locks an account for a retry, which does not need it, until COMMIT. */
TEST(an_account_that_was_locked_and_not_used_wakes_waiting_requests)
{
    struct test_engine engine;
    CLEANUP(asked_wipe) struct asked keyed, slow;
    test_engine_open(&engine, 4, 2);
    ask(&engine.pool, &keyed);
    ask_as(&engine, &slow, "slow");
    snprintf(keyed.request.idempotency_key, sizeof keyed.request.idempotency_key, "key");
    struct client first = {.ticket.grant.request = &keyed.request};
    client_submit(&engine, &first);
    const struct lease *lease = client_lease(&first, SOON_MS);
    test_pool_include(engine.pool.db, &lease, 1);
    test_db_exec(&engine.pool.test, sql_stall);
    for (int round = 0; round < ROUNDS; round++) {
        struct client keepers[2] = {0}, retry = {.ticket.grant.request = &keyed.request};
        struct client other = {.ticket.grant.request = &slow.request}, waiting = {0};
        const struct lease *leases[4];
        struct db *holder = block_grants(&engine);
        for (size_t i = 0; i < 2; i++) { /* keep both workers busy until unblock_grants */
            client_submit(&engine, &keepers[i]);
            await_taken(&engine);
        }
        client_submit(&engine, &retry); /* these two become one batch, which locks two accounts */
        client_submit(&engine, &other);
        unblock_grants(holder);
        for (size_t i = 0; i < 2; i++)
            leases[i] = client_lease(&keepers[i], SOON_MS);
        await_stalled(&engine);
        client_submit(&engine, &waiting);
        await_shortage(&engine, 1);
        resume(&engine);
        leases[2] = client_lease(&other, SOON_MS);
        leases[3] = client_lease(&waiting, SOON_MS);
        client_lease(&retry, SOON_MS);
        test_pool_include(engine.pool.db, leases, 4);
        clients_wipe(keepers, 2);
        clients_wipe(&retry, 1);
        clients_wipe(&other, 1);
        clients_wipe(&waiting, 1);
        stall_again(&engine);
    }
    test_engine_close(&engine);
    clients_wipe(&first, 1);
}

/* Other claims skip locked accounts: a claim that locks more than it needs makes them find none. */
TEST(H16_a_claim_locks_no_more_accounts_than_it_has_requests)
{
    struct test_engine engine;
    struct client slow = {0}, others[2] = {0};
    struct asked asked CLEANUP(asked_wipe);
    test_engine_open(&engine, 3, 2);
    ask_as(&engine, &asked, "slow");
    test_db_exec(&engine.pool.test, sql_stall);
    slow.ticket.grant.request = &asked.request;
    client_submit(&engine, &slow);
    await_stalled(&engine);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        client_submit(&engine, &others[i]);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        client_lease(&others[i], SOON_MS);
    resume(&engine);
    client_lease(&slow, SOON_MS);
    assert_int_equal(slow.rank, 3);
    test_engine_close(&engine);
    clients_wipe(others, ARRAY_LEN(others));
    clients_wipe(&slow, 1);
}

/* ---- the database */

TEST(DX7_after_a_restart_of_the_database_waiting_requests_are_granted)
{
    struct test_engine engine;
    struct client first = {0}, waiting = {0}, during = {0}, after = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &first);
    const struct lease *lease = client_lease(&first, SOON_MS);
    test_pg_kill();
    client_submit(&engine, &during);
    client_refused(&during, ERR_DATABASE_UNAVAILABLE, SOON_MS);
    test_pg_restart();
    for (const int64_t end_ms = clock_ms() + slower(SOON_MS);;) {
        client_submit(&engine, &waiting);
        clock_sleep_ms(300);
        if (!client_answered(&waiting))
            break;
        /* a connection to the server that was killed had not ended yet */
        client_refused(&waiting, ERR_DATABASE_UNAVAILABLE, 0);
        assert_true(clock_left_ms(end_ms) > 0);
        waiting = (struct client){0};
    }
    int64_t begun_ms = clock_ms();
    test_pool_include(engine.pool.db, &lease, 1);
    lease = client_lease(&waiting, SOON_MS);
    print_message("woken %d ms after a release, in a new session\n", (int)(waiting.answered_ms - begun_ms));
    test_pool_include(engine.pool.db, &lease, 1);
    client_submit(&engine, &after);
    client_lease(&after, SOON_MS);
    assert_int_equal(lease_rows(&engine.pool), 3);
    test_engine_close(&engine);
    clients_wipe((struct client[]){first, waiting, after}, 3);
}

TEST(DX7_when_nobody_waits_any_more_the_database_that_is_away_is_not_asked_all_the_time)
{
    struct test_engine engine CLEANUP(test_engine_close) = {0};
    struct client clients[3] = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &clients[0]);
    client_lease(&clients[0], SOON_MS);
    client_submit(&engine, &clients[1]);
    await_shortage(&engine, 1);
    test_pg_kill();
    client_submit(&engine, &clients[2]);
    for (int i = 1; i < 3; i++)
        client_refused(&clients[i], ERR_DATABASE_UNAVAILABLE, 2 * SOON_MS);
    const clock_t before = clock();
    clock_sleep_ms(1000);
    const clock_t used = clock() - before;
    test_pg_restart();
    print_message("%ld ms of processor time in a second\n", (long)(used / (CLOCKS_PER_SEC / 1000)));
    assert_true(used < CLOCKS_PER_SEC / 20);
    clients_wipe(clients, ARRAY_LEN(clients));
}

/* ---- stopping */

TEST(DO1_stopping_decides_each_request_once_and_loses_no_lease)
{
    for (int round = 0; round < 8; round++) {
        struct test_engine engine;
        struct client *clients = NEW_ARRAY(200, struct client);
        size_t granted = 0;
        test_engine_open(&engine, 40, 3);
        for (size_t i = 0; i < 200; i++)
            client_submit(&engine, &clients[i]);
        clock_sleep_ms(round * 4); /* after another time in each round */
        test_engine_stop(&engine);
        for (size_t i = 0; i < 200; i++) {
            assert_int_equal(clients[i].answers, 1);
            if (clients[i].ticket.grant.state == GRANT_DONE)
                granted++;
            else
                client_refused(&clients[i], ERR_SHUTTING_DOWN, 0);
        }
        assert_int_equal(lease_rows(&engine.pool), granted);
        assert_int_equal(leased_accounts(&engine.pool), granted);
        test_engine_close(&engine);
        clients_wipe(clients, 200);
        free(clients);
    }
}

GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
