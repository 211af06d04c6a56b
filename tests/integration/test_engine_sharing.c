/*
 * While accounts are short, replicas share them in proportion to their waiting requests, and no account stays
 * idle while a request waits: with several replicas, with hundreds of requests, when claims fail.
 */
#include "support/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

#define SOON_MS 3000
#define IDLE_MS 300 /* an account may be idle for so long while a request waits */

/* A further replica on the pool of the first. */
static void replica_open(struct test_engine *replica, const struct test_engine *first)
{
    *replica = *first;
    test_engine_start(replica, first->pool.test.url, 2);
}

static int64_t number(const struct test_engine *engine, const char *sql)
{
    return test_db_number(&engine->pool.test, sql);
}

/* ---- several replicas */

#define REPLICAS_MAX 4

struct contest {
    size_t replicas, accounts, each; /* requests of each replica */
    int ledger_ms;
};

struct contest_state {
    const struct contest *contest;
    struct test_engine replicas[REPLICAS_MAX];
    struct client *holders, *clients; /* those of replica r are at r, r + replicas, ... */
    bool *included;
};

static bool is_granted(struct client *client)
{
    return client_answered(client) && client->ticket.grant.state == GRANT_DONE;
}

/* The difference between the replicas with the most and the fewest leases, in per cent of the requests of
 * each. */
static size_t points_apart(const struct contest_state *now)
{
    const size_t replicas = now->contest->replicas;
    size_t most = 0, fewest = SIZE_MAX;
    for (size_t r = 0; r < replicas; r++) {
        size_t granted = 0;
        for (size_t i = r; i < replicas * now->contest->each; i += replicas)
            granted += is_granted(&now->clients[i]);
        most = granted > most ? granted : most;
        fewest = granted < fewest ? granted : fewest;
    }
    return (most - fewest) * 100 / now->contest->each;
}

static bool all_answered(const struct contest_state *now)
{
    for (size_t i = 0; i < now->contest->replicas * now->contest->each; i++)
        if (!client_answered(&now->clients[i]))
            return false;
    return true;
}

/* Closes a ledger that includes every granted lease that no ledger has yet. */
static void include_granted(struct contest_state *now)
{
    const size_t count = now->contest->replicas * now->contest->each;
    const struct lease **leases AUTO_FREE = NEW_ARRAY(count, const struct lease *);
    size_t granted = 0;
    for (size_t i = 0; i < count; i++)
        if (!now->included[i] && is_granted(&now->clients[i])) {
            now->included[i] = true;
            leases[granted++] = client_lease(&now->clients[i], 0);
        }
    if (granted > 0)
        assert_int_equal(test_pool_include(now->replicas[0].pool.db, leases, granted).released, granted);
}

/* The newest reports of so many replicas together name so many waiting requests. */
static void await_reported(const struct test_engine *engine, size_t replicas, size_t waiting)
{
    AUTO_FREE char *sql = mem_format("SELECT (count(*) = %zu AND sum(waiting) = %zu)::int::int8 FROM "
                                     "fairway.waiting_now WHERE waiting > 0",
        replicas, waiting);
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); number(engine, sql) != 1; clock_sleep_ms(10))
        assert_true(clock_left_ms(end_ms) > 0);
}

static void contest_open(struct contest_state *now, const struct contest *contest)
{
    const size_t count = contest->replicas * contest->each;
    const struct lease **held AUTO_FREE = NEW_ARRAY(contest->accounts, const struct lease *);
    *now = (struct contest_state){.contest = contest,
        .holders = NEW_ARRAY(contest->accounts, struct client),
        .clients = NEW_ARRAY(count, struct client),
        .included = NEW_ARRAY(count, bool)};
    test_engine_open(&now->replicas[0], contest->accounts, 2);
    for (size_t r = 1; r < contest->replicas; r++)
        replica_open(&now->replicas[r], &now->replicas[0]);
    for (size_t i = 0; i < contest->accounts; i++)
        client_submit(&now->replicas[0], &now->holders[i]);
    for (size_t i = 0; i < contest->accounts; i++)
        held[i] = client_lease(&now->holders[i], SOON_MS);
    for (size_t i = 0; i < count; i++)
        client_submit(&now->replicas[i % contest->replicas], &now->clients[i]);
    await_reported(&now->replicas[0], contest->replicas, count);
    test_pool_include(now->replicas[0].pool.db, held, contest->accounts);
}

static void contest_close(struct contest_state *now)
{
    for (size_t r = 1; r < now->contest->replicas; r++)
        test_engine_stop(&now->replicas[r]);
    test_engine_close(&now->replicas[0]);
    clients_wipe(now->holders, now->contest->accounts);
    clients_wipe(now->clients, now->contest->replicas * now->contest->each);
    free(now->holders);
    free(now->clients);
    free(now->included);
}

/* Closes ledgers until all requests are answered, and measures how far the replicas are apart before each,
 * and how long an account is idle while a request waits. */
static void contest_run(const struct contest *contest)
{
    struct contest_state now;
    size_t most_apart = 0;
    int64_t idle_since_ms = 0, longest_ms = 0;
    contest_open(&now, contest);
    for (int64_t ledger_ms = clock_ms() + contest->ledger_ms; !all_answered(&now); clock_sleep_ms(5)) {
        if (clock_left_ms(ledger_ms) == 0) {
            const size_t apart = points_apart(&now);
            most_apart = apart > most_apart ? apart : most_apart;
            include_granted(&now);
            ledger_ms += contest->ledger_ms;
        }
        const int64_t idle = number(
            &now.replicas[0], "SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NULL");
        if (idle == 0 || all_answered(&now))
            idle_since_ms = 0;
        else if (idle_since_ms == 0)
            idle_since_ms = clock_ms();
        else if (clock_ms() - idle_since_ms > longest_ms)
            longest_ms = clock_ms() - idle_since_ms;
    }
    print_message("%zu replicas, %zu requests each, %zu accounts: %zu points apart; idle for %d ms at most\n",
        contest->replicas, contest->each, contest->accounts, most_apart, (int)longest_ms);
    assert_in_range(most_apart, 0, slower(10)); /* ledgers close faster than a slow machine claims */
    assert_in_range(longest_ms, 0, slower(IDLE_MS));
    contest_close(&now);
}

TEST(DL7_two_equal_replicas_get_equal_shares_and_leave_no_account_idle)
{
    contest_run(&(struct contest){.replicas = 2, .accounts = 15, .each = 120, .ledger_ms = 200});
}

TEST(DL7_four_equal_replicas_get_equal_shares_and_leave_no_account_idle)
{
    contest_run(&(struct contest){.replicas = 4, .accounts = 20, .each = 120, .ledger_ms = 150});
}

TEST(DL7_hundreds_of_waiting_requests_leave_no_account_idle)
{
    contest_run(&(struct contest){.replicas = 2, .accounts = 100, .each = 500, .ledger_ms = 350});
}

/* ---- one replica beside another one */

/* The claim of a replica that is not short takes its share too, and reports the rest. */
TEST(DL7_a_claim_leaves_idle_accounts_to_requests_that_wait_in_other_replicas)
{
    struct test_engine engine CLEANUP(test_engine_close);
    struct asked asked[4];
    struct grant *grants[4];
    struct detail detail = {0};
    test_engine_open(&engine, 4, 1);
    test_db_exec(&engine.pool.test,
        "INSERT INTO fairway.waiting VALUES (2, 4, 0, clock_timestamp() + interval '0.9 s')");
    for (size_t i = 0; i < 4; i++) {
        ask(&engine.pool, &asked[i]);
        grants[i] = &asked[i].grant;
    }
    struct grant_batch batch = {.grants = grants, .count = 4, .mode = GRANT_CLAIM, .replica = 1};
    assert_int_equal(
        grant_batch_run(engine.pool.db, engine.pool.keyd, &engine.pool.settings, &batch, &detail), ERR_OK);
    assert_int_equal(leased_accounts(&engine.pool), 2);
    assert_int_equal(batch.left, 2);
    assert_int_equal(number(&engine, "SELECT waiting FROM fairway.waiting WHERE replica = 1"), 2);
    asked_wipe_all(asked, 4);
}

TEST(a_replica_that_is_not_short_reports_nothing)
{
    struct test_engine engine;
    struct client clients[2] = {0};
    test_engine_open(&engine, 2, 1);
    for (size_t i = 0; i < 2; i++) {
        client_submit(&engine, &clients[i]);
        client_lease(&clients[i], SOON_MS);
    }
    assert_int_equal(number(&engine, "SELECT count(*) FROM fairway.waiting"), 0);
    test_engine_close(&engine);
    clients_wipe(clients, 2);
}

/* The newest report of the only replica. */
static void await_waiting(const struct test_engine *engine, int64_t waiting)
{
    const char *const sql =
        "SELECT coalesce((SELECT waiting FROM fairway.waiting ORDER BY seen_at DESC LIMIT 1), 0)";
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); number(engine, sql) != waiting; clock_sleep_ms(10))
        assert_true(clock_left_ms(end_ms) > 0);
}

TEST(a_replica_reports_its_waiting_requests_until_none_wait)
{
    struct test_engine engine;
    struct client clients[3] = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &clients[0]);
    client_lease(&clients[0], SOON_MS);
    for (int i = 1; i < 3; i++) {
        client_submit(&engine, &clients[i]);
        await_waiting(&engine, i);
    }
    for (int i = 1; i < 3; i++) {
        engine_cancel(engine.engine, &clients[i].ticket);
        client_refused(&clients[i], ERR_CANCELLED, SOON_MS);
    }
    await_waiting(&engine, 0);
    test_engine_close(&engine);
    clients_wipe(clients, 3);
}

/* Every claim of the second replica fails after it has locked accounts. */
TEST(DL7_claims_that_fail_keep_no_account_from_other_replicas)
{
    enum {
        ACCOUNTS = 6
    };
    struct test_engine replicas[2];
    struct client holders[ACCOUNTS] = {0}, good[ACCOUNTS] = {0}, bad[ACCOUNTS] = {0};
    const struct lease *held[ACCOUNTS];
    struct asked asked CLEANUP(asked_wipe);
    test_engine_open(&replicas[0], ACCOUNTS, 2);
    replica_open(&replicas[1], &replicas[0]);
    ask(&replicas[0].pool, &asked);
    snprintf(asked.request.request_id, sizeof asked.request.request_id, "bad");
    test_db_exec(&replicas[0].pool.test,
        "ALTER TABLE fairway.leases ADD CONSTRAINT planted CHECK (request_id <> 'bad')");
    for (size_t i = 0; i < ACCOUNTS; i++)
        client_submit(&replicas[0], &holders[i]);
    for (size_t i = 0; i < ACCOUNTS; i++)
        held[i] = client_lease(&holders[i], SOON_MS);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        client_submit(&replicas[0], &good[i]);
        bad[i].ticket.grant.request = &asked.request;
        client_submit(&replicas[1], &bad[i]);
    }
    await_reported(&replicas[0], 2, 2 * ACCOUNTS);
    const int64_t begun_ms = clock_ms();
    test_pool_include(replicas[0].pool.db, held, ACCOUNTS);
    int64_t last_ms = begun_ms;
    size_t failed = 0;
    for (size_t i = 0; i < ACCOUNTS; i++) {
        client_lease(&good[i], SOON_MS);
        last_ms = good[i].answered_ms > last_ms ? good[i].answered_ms : last_ms;
    }
    for (size_t i = 0; i < ACCOUNTS; i++) { /* on a slow machine the good ones may get all accounts first */
        client_wait(&bad[i], ENGINE_ANSWER_MS);
        failed += bad[i].ticket.grant.error == ERR_CONSTRAINT;
        assert_true(bad[i].ticket.grant.error == ERR_CONSTRAINT ||
                    bad[i].ticket.grant.error == ERR_CHANNEL_ACCOUNT_UNAVAILABLE);
    }
    assert_true(failed > 0);
    print_message("all accounts were granted after %d ms\n", (int)(last_ms - begun_ms));
    assert_in_range(last_ms - begun_ms, 0, slower(1000));
    test_engine_stop(&replicas[1]);
    test_engine_close(&replicas[0]);
    clients_wipe(holders, ACCOUNTS);
    clients_wipe(good, ACCOUNTS);
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
