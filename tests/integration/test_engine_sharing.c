/*
 * While accounts are short, replicas share them: requests that arrived together share in proportion to their
 * numbers, a request that has waited much longer comes first, and a replica that has stopped keeps accounts
 * from the others only briefly.
 */
#include "support/engine.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

#define SOON_MS 3000
#define ACCOUNTS 15
#define EACH 100 /* clients of each replica */

/* A second replica on the pool of the first. */
static void replica_open(struct test_engine *replica, const struct test_engine *first)
{
    *replica = *first;
    test_engine_start(replica, first->pool.test.url, 2);
}

static void replica_close(struct test_engine *replica)
{
    engine_stop(replica->engine);
}

/* Closes a ledger that includes every granted lease that no ledger has yet. Returns their number. */
static size_t include_granted(
    struct test_engine *engine, struct client clients[], size_t count, bool included[])
{
    const struct lease **leases AUTO_FREE = NEW_ARRAY(count, const struct lease *);
    size_t granted = 0;
    for (size_t i = 0; i < count; i++)
        if (!included[i] && client_answered(&clients[i]) && clients[i].ticket.grant.state == GRANT_DONE) {
            included[i] = true;
            leases[granted++] = &clients[i].ticket.grant.lease;
        }
    if (granted > 0)
        assert_int_equal(test_pool_include(engine->pool.db, leases, granted).released, granted);
    return granted;
}

static size_t answered_count(struct client clients[], size_t from, size_t count, size_t step)
{
    size_t answered = 0;
    for (size_t i = from; i < count; i += step)
        answered += client_answered(&clients[i]);
    return answered;
}

/* Waits until this many of the requests are decided. */
static void await_answered(struct client clients[], size_t count, size_t answered)
{
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); answered_count(clients, 0, count, 1) < answered;
         clock_sleep_ms(1))
        if (clock_left_ms(end_ms) == 0)
            fail_msg("%zu answered, not %zu", answered_count(clients, 0, count, 1), answered);
}

/* The largest number of later requests that were decided before a request. */
static size_t most_overtaken(const struct client clients[], size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t overtaken = 0;
        for (size_t later = i + 1; later < count; later++)
            overtaken += clients[later].rank < clients[i].rank;
        most = overtaken > most ? overtaken : most;
    }
    return most;
}

/* Returns how many more requests of the first replica are decided than of the second. */
static long ahead(struct client clients[])
{
    return (long)answered_count(clients, 0, 2 * EACH, 2) - (long)answered_count(clients, 1, 2 * EACH, 2);
}

static void DL7_two_replicas_with_equally_many_requests_get_equal_shares_in_order(void **state)
{
    (void)state;
    struct test_engine replicas[2];
    struct client *clients = NEW_ARRAY(2 * EACH, struct client);
    bool included[2 * EACH] = {0};
    long most_apart = 0;
    test_engine_open(&replicas[0], ACCOUNTS, 2);
    replica_open(&replicas[1], &replicas[0]);
    for (size_t i = 0; i < 2 * EACH; i++) /* even ones of the first replica, odd ones of the second */
        client_submit(&replicas[i % 2], &clients[i]);
    await_answered(clients, 2 * EACH, ACCOUNTS);
    clock_sleep_ms(300); /* both have published their requests */
    const long first = ahead(clients);
    for (size_t answered = ACCOUNTS; answered < 2 * EACH;) {
        answered += include_granted(&replicas[0], clients, 2 * EACH, included);
        await_answered(clients, 2 * EACH, answered < 2 * EACH ? answered : 2 * EACH);
        const long apart = labs(ahead(clients) - first);
        most_apart = apart > most_apart ? apart : most_apart;
    }
    for (size_t i = 0; i < 2 * EACH; i++)
        assert_int_equal(clients[i].ticket.grant.state, GRANT_DONE);
    print_message("difference between the replicas: %ld at most; overtaken by %zu at most\n", most_apart,
        most_overtaken(clients, 2 * EACH));
    /* the last requests of one replica may be granted when the other has none left */
    assert_true(most_apart <= 2 * ACCOUNTS);
    assert_true(most_overtaken(clients, 2 * EACH) <= 4 * ACCOUNTS);
    replica_close(&replicas[1]);
    test_engine_close(&replicas[0]);
    clients_wipe(clients, 2 * EACH);
    free(clients);
}

/* How two replicas ask for the accounts that one ledger releases. */
struct contest {
    size_t accounts;    /* 0: ACCOUNTS */
    size_t requests[2]; /* of each replica; not the same number when late_ms is set */
    int apart_ms;       /* the requests of the second replica arrive so much later */
    int late_ms;        /* its claim waits so long for a lock */
};

/* Holds the rows of the replica that has published this number of requests. */
static struct db *lock_row(const struct test_engine *engine, size_t requests)
{
    AUTO_ROWS rows = NULL;
    struct db *holder = test_db_open(&engine->pool.test);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(
        db_query(holder,
            DB_SQL("SELECT 1 FROM fairway.waiting WHERE cardinality(since) = $1::int8 FOR UPDATE",
                DB_I64((int64_t)requests)),
            &rows, NULL),
        ERR_OK);
    assert_true(db_count(rows) >= 1);
    return holder;
}

static void submit_all(struct test_engine *engine, struct client clients[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        client_submit(engine, &clients[i]);
}

/* Returns how many of the accounts the first replica gets. */
static size_t contest_run(const struct contest *contest)
{
    const size_t accounts = contest->accounts == 0 ? ACCOUNTS : contest->accounts;
    const size_t first = contest->requests[0], count = first + contest->requests[1];
    struct test_engine replicas[2];
    struct client *holders = NEW_ARRAY(accounts, struct client), *clients = NEW_ARRAY(count, struct client);
    bool *included AUTO_FREE = NEW_ARRAY(accounts, bool);
    test_engine_open(&replicas[0], accounts, 2);
    replica_open(&replicas[1], &replicas[0]);
    submit_all(&replicas[0], holders, accounts);
    await_answered(holders, accounts, accounts);
    if (contest->apart_ms > 0) {
        submit_all(&replicas[0], clients, first);
        clock_sleep_ms(contest->apart_ms);
        submit_all(&replicas[1], &clients[first], count - first);
    } else {
        for (size_t i = 0; i < first || i < count - first; i++) {
            submit_all(&replicas[0], &clients[i], i < first);
            submit_all(&replicas[1], &clients[first + i], i < count - first);
        }
    }
    clock_sleep_ms(700); /* both have published their requests */
    struct db *holder = contest->late_ms > 0 ? lock_row(&replicas[0], contest->requests[1]) : NULL;
    include_granted(&replicas[0], holders, accounts, included);
    if (holder != NULL) {
        clock_sleep_ms(contest->late_ms);
        assert_int_equal(answered_count(clients, first, count, 1), 0);
        db_free(holder);
    }
    await_answered(clients, count, accounts);
    const size_t granted = answered_count(clients, 0, first, 1);
    print_message("%zu of %zu accounts went to the first replica\n", granted, accounts);
    replica_close(&replicas[1]);
    test_engine_close(&replicas[0]);
    clients_wipe(holders, accounts);
    clients_wipe(clients, count);
    free(holders);
    free(clients);
    return granted;
}

/* The replica that claims first claims several times meanwhile, and leaves the share of the other. */
static void DL7_a_replica_that_claims_later_gets_its_share(void **state)
{
    (void)state;
    assert_in_range(contest_run(&(struct contest){.requests = {60, 59}, .late_ms = 200}), ACCOUNTS / 2 - 2,
        ACCOUNTS / 2 + 3);
}

static void DL7_requests_that_arrive_a_little_later_get_their_share(void **state)
{
    (void)state;
    assert_in_range(
        contest_run(&(struct contest){.requests = {60, 60}, .apart_ms = 20}), ACCOUNTS / 2 - 2, ACCOUNTS - 2);
}

static void DL7_a_replica_with_a_quarter_of_the_requests_gets_a_quarter_of_the_accounts(void **state)
{
    (void)state;
    assert_in_range(contest_run(&(struct contest){.requests = {20, 60}}), 2, 6);
}

/* Replicas publish the first GRANT_SHARING_MAX requests of their order. */
static void DL7_shares_are_in_proportion_when_more_requests_wait_than_are_published(void **state)
{
    (void)state;
    assert_in_range(
        contest_run(&(struct contest){.requests = {GRANT_SHARING_MAX, 4 * GRANT_SHARING_MAX}}), 1, 5);
}

/* The second replica publishes only the earliest fifth of its turns. */
static void DL7_shares_are_in_proportion_when_more_accounts_are_idle_than_turns_are_published(void **state)
{
    (void)state;
    const size_t granted = contest_run(&(struct contest){.accounts = 600, .requests = {300, 1200}});
    assert_in_range(granted, 80, 170); /* 120 in proportion */
}

static void DL7_released_accounts_go_to_the_replica_whose_requests_waited_longer(void **state)
{
    (void)state;
    struct test_engine replicas[2];
    struct client holders[4] = {0}, early[4] = {0}, late[4] = {0};
    bool included[4] = {0};
    test_engine_open(&replicas[0], 4, 2);
    replica_open(&replicas[1], &replicas[0]);
    for (size_t i = 0; i < 4; i++)
        client_submit(&replicas[i % 2], &holders[i]);
    await_answered(holders, 4, 4);
    for (size_t i = 0; i < 4; i++)
        client_submit(&replicas[0], &early[i]);
    clock_sleep_ms(ENGINE_TURN_MS + 100); /* requests that arrive closer together may be interleaved */
    for (size_t i = 0; i < 4; i++)
        client_submit(&replicas[1], &late[i]);
    clock_sleep_ms(300);
    include_granted(&replicas[0], holders, 4, included);
    await_answered(early, 4, 4);
    assert_int_equal(answered_count(late, 0, 4, 1), 0);
    bool again[4] = {0};
    include_granted(&replicas[0], early, 4, again);
    await_answered(late, 4, 4);
    replica_close(&replicas[1]);
    test_engine_close(&replicas[0]);
    clients_wipe(holders, 4);
    clients_wipe(early, 4);
    clients_wipe(late, 4);
}

static void DL7_a_request_of_a_replica_that_is_not_short_does_not_overtake_waiting_requests(void **state)
{
    (void)state;
    struct test_engine engine;
    struct client client = {0};
    test_engine_open(&engine, 2, 2);
    /* Another replica has two waiting requests, whose turns come first. Published a minute ahead, they stay
     * valid if this test has to wait for a processor. */
    test_db_exec(&engine.pool.test,
        "INSERT INTO fairway.waiting (replica, since, seen_at, period)"
        " SELECT 1, ARRAY[n - interval '2.5 s', n - interval '1.5 s'], n + interval '1 minute',"
        " floor(extract(epoch FROM n))::bigint / 10 + 6 FROM clock_timestamp() n");
    client_submit(&engine, &client);
    for (int i = 0; i < 8; i++) {
        clock_sleep_ms(100);
        assert_false(client_answered(&client));
    }
    test_db_exec(&engine.pool.test, "UPDATE fairway.waiting SET since = since[2:] WHERE replica = 1");
    client_lease(&client, 1000); /* one of the two accounts is not the share of the other replica */
    test_engine_close(&engine);
    clients_wipe(&client, 1);
}

static void DL7_a_replica_that_stopped_keeps_its_share_for_two_seconds(void **state)
{
    (void)state;
    struct test_engine engine;
    struct client client = {0};
    test_engine_open(&engine, 1, 2);
    test_db_exec(&engine.pool.test, "INSERT INTO fairway.waiting VALUES (1, ARRAY[clock_timestamp() - "
                                    "interval '1.5 s'], clock_timestamp())");
    client_submit(&engine, &client);
    client_lease(&client, 2000 + SOON_MS);
    const int64_t kept_ms = test_db_number(&engine.pool.test,
        "SELECT (extract(epoch FROM a.locked_at - w.seen_at) * 1000)::bigint FROM fairway.waiting w,"
        " fairway.channel_accounts a WHERE w.replica = 1 AND a.locked_at IS NOT NULL");
    print_message("granted %d ms after the other replica was last seen\n", (int)kept_ms);
    assert_in_range(kept_ms, 2000, slower(3500));
    test_engine_close(&engine);
    clients_wipe(&client, 1);
}

/* A transaction that hangs has locked the replica's row. */
static void DL7_a_locked_row_of_waiting_requests_delays_grants_only_briefly(void **state)
{
    (void)state;
    struct test_engine engine;
    struct client first = {0}, second = {0};
    const struct lease *lease;
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &first);
    lease = client_lease(&first, SOON_MS);
    client_submit(&engine, &second);
    clock_sleep_ms(200);
    struct db *holder = test_db_open(&engine.pool.test);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(
        db_query(holder, DB_SQL0("SELECT 1 FROM fairway.waiting FOR UPDATE"), NULL, NULL), ERR_OK);
    test_pool_include(engine.pool.db, &lease, 1);
    client_wait(
        &second, 5000); /* the batch that waits for the lock may fail; the next one uses another row */
    struct client third = {0};
    if (second.ticket.grant.state != GRANT_DONE) {
        client_submit(&engine, &third);
        client_lease(&third, 1000);
    }
    db_rollback(holder);
    db_free(holder);
    test_engine_close(&engine);
    clients_wipe(&first, 1);
    clients_wipe(&second, 1);
    clients_wipe(&third, 1);
}

/* The newest row of the replica counts. */
static int64_t published(const struct test_engine *engine)
{
    return test_db_number(&engine->pool.test, "SELECT coalesce((SELECT cardinality(since) FROM "
                                              "fairway.waiting ORDER BY seen_at DESC LIMIT 1), 0)::int8");
}

static void no_waiting_requests_are_published_when_none_wait(void **state)
{
    (void)state;
    struct test_engine engine;
    struct client clients[3] = {0};
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &clients[0]);
    client_lease(&clients[0], SOON_MS);
    client_submit(&engine, &clients[1]);
    client_submit(&engine, &clients[2]);
    clock_sleep_ms(700);
    assert_int_equal(published(&engine), 2);
    for (size_t i = 1; i < 3; i++) {
        engine_cancel(engine.engine, &clients[i].ticket);
        client_refused(&clients[i], ERR_CANCELLED, 0);
    }
    for (int64_t end_ms = clock_ms() + slower(SOON_MS); published(&engine) != 0; clock_sleep_ms(20))
        assert_true(clock_left_ms(end_ms) > 0);
    test_engine_close(&engine);
    clients_wipe(clients, 3);
}

static int64_t await_published(const struct test_engine *engine, int64_t count)
{
    const int64_t began_ms = clock_ms();
    for (int64_t end_ms = began_ms + slower(SOON_MS); published(engine) != count; clock_sleep_ms(10))
        assert_true(clock_left_ms(end_ms) > 0);
    return clock_ms() - began_ms;
}

/* In a shortage, each replica publishes at least every ENGINE_SHARE_MS. */
static void DL7_new_requests_are_published_soon_in_a_shortage(void **state)
{
    (void)state;
    struct test_engine engine;
    struct client clients[5] = {0};
    int64_t shortest_ms = INT64_MAX;
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &clients[0]);
    client_lease(&clients[0], SOON_MS);
    client_submit(&engine, &clients[1]);
    await_published(&engine, 1);
    for (size_t i = 2; i < 5; i++) {
        client_submit(&engine, &clients[i]);
        const int64_t took_ms = await_published(&engine, (int64_t)i);
        if (i > 2 && took_ms < shortest_ms) /* the first may be published with the regular ones */
            shortest_ms = took_ms;
    }
    print_message("published after %d ms\n", (int)shortest_ms);
    assert_in_range(shortest_ms, 0, 400);
    test_engine_close(&engine);
    clients_wipe(clients, 5);
}

/* Each claim looks at every account. */
static void DL7_requests_whose_turns_are_not_published_cause_no_claims(void **state)
{
    (void)state;
    enum {
        PUBLISHED = GRANT_SHARING_MAX + 50,
        LATER = 20
    };
    struct test_engine engine;
    struct client *clients = NEW_ARRAY(PUBLISHED + LATER, struct client), holder = {0};
    int64_t claims = 0, seen_us = 0;
    test_engine_open(&engine, 1, 2);
    client_submit(&engine, &holder);
    client_lease(&holder, SOON_MS);
    submit_all(&engine, clients, PUBLISHED);
    clock_sleep_ms(ENGINE_TURN_MS + 100); /* the turns of later requests are later than all of these */
    const int64_t began_ms = clock_ms();
    for (size_t i = 0; i < LATER; i++) {
        client_submit(&engine, &clients[PUBLISHED + i]);
        for (const int64_t next_ms = clock_ms() + 100; clock_left_ms(next_ms) > 0; clock_sleep_ms(10)) {
            const int64_t now_us = test_db_number(&engine.pool.test,
                "SELECT (extract(epoch FROM max(seen_at)) * 1000000)::bigint FROM fairway.waiting");
            claims += now_us != seen_us;
            seen_us = now_us;
        }
    }
    const int64_t took_ms = clock_ms() - began_ms;
    print_message("%d claims in %d ms\n", (int)claims, (int)took_ms);
    assert_int_equal(published(&engine), GRANT_SHARING_MAX);
    assert_true(claims <= 2 + took_ms / 500); /* ENGINE_SHARE_MS */
    test_engine_close(&engine);
    clients_wipe(&holder, 1);
    clients_wipe(clients, PUBLISHED + LATER);
    free(clients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DL7_two_replicas_with_equally_many_requests_get_equal_shares_in_order),
        cmocka_unit_test(DL7_a_replica_that_claims_later_gets_its_share),
        cmocka_unit_test(DL7_requests_that_arrive_a_little_later_get_their_share),
        cmocka_unit_test(DL7_a_replica_with_a_quarter_of_the_requests_gets_a_quarter_of_the_accounts),
        cmocka_unit_test(DL7_shares_are_in_proportion_when_more_requests_wait_than_are_published),
        cmocka_unit_test(DL7_shares_are_in_proportion_when_more_accounts_are_idle_than_turns_are_published),
        cmocka_unit_test(DL7_released_accounts_go_to_the_replica_whose_requests_waited_longer),
        cmocka_unit_test(DL7_a_request_of_a_replica_that_is_not_short_does_not_overtake_waiting_requests),
        cmocka_unit_test(DL7_a_replica_that_stopped_keeps_its_share_for_two_seconds),
        cmocka_unit_test(DL7_a_locked_row_of_waiting_requests_delays_grants_only_briefly),
        cmocka_unit_test(DL7_new_requests_are_published_soon_in_a_shortage),
        cmocka_unit_test(DL7_requests_whose_turns_are_not_published_cause_no_claims),
        cmocka_unit_test(no_waiting_requests_are_published_when_none_wait),
    };
    return cmocka_run_group_tests_name("engine sharing", tests, test_pg_start, test_pg_stop);
}
