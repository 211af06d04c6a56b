/*
 * A contract call takes one lease of a client, whatever the idempotency keys of its requests and in whatever
 * replica. The lease holds its call while it is open, and after the network may have executed it.
 */
#include "support/keyd.h"
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define ACCOUNTS 8
#define REPLICAS 4
#define ROUNDS 60

static int set_up(void **state)
{
    const int failed = test_pool_set_up(state, ACCOUNTS);
    struct test_pool *pool = *state;
    pool->settings.limits.bump_base_fee_stroops = 100;
    pool->settings.limits.max_bump_fee_stroops = keyd_test_settings().max_bump_fee_stroops;
    return failed;
}

static struct hash hash_of(const char *text)
{
    return sha256((struct bytes){(const uint8_t *)text, strlen(text)});
}

/* Makes a request for this call under this idempotency key. */
static void ask_call(
    const struct test_pool *pool, struct asked *asked, const char *call, const char *key, bool submits)
{
    ask(pool, asked);
    asked->request.has_natural_key = true;
    asked->request.natural_key = hash_of(call);
    asked->request.submits = submits;
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "%s", key);
    asked->request.digest = hash_of(call);
}

static void grant_on(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    enum err e = test_pool_grant(pool, asked, count, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
}

/* Runs a batch of one, and keeps what is not bytes. */
static struct asked granted(struct test_pool *pool, const char *call, const char *key, bool submits)
{
    struct asked asked;
    ask_call(pool, &asked, call, key, submits);
    grant_on(pool, &asked, 1);
    const struct grant grant = asked.grant;
    asked_wipe(&asked);
    asked.grant = grant;
    asked.grant.lease.envelope = (struct buf){0};
    return asked;
}

static void assert_new(const struct asked *asked)
{
    assert_int_equal(asked->grant.state, GRANT_DONE);
    assert_false(asked->grant.is_of_another);
}

/* The lease of the call is that of `of`, which another request has taken. */
static void assert_of_another(const struct asked *asked, const struct asked *of)
{
    assert_true(asked->grant.is_of_another);
    assert_true(hash_equal(&asked->grant.lease.hash, &of->grant.lease.hash));
    assert_int_equal(asked->grant.state, asked->request.submits ? GRANT_DONE : GRANT_REFUSED);
    if (asked->grant.state == GRANT_REFUSED)
        assert_int_equal(asked->grant.error, ERR_AUTHORIZATION_LEASED);
}

static void a_batch_for_one_call_takes_one_lease_and_the_others_get_its_hash(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[6];
    for (size_t i = 0; i < 6; i++) {
        const char *const keys[] = {"a", "b", "c", "a", "", ""};
        ask_call(pool, &asked[i], "call", keys[i], i != 1);
    }
    grant_on(pool, asked, 6);
    assert_int_equal(lease_rows(pool), 1);
    assert_new(&asked[0]);
    assert_new(&asked[3]); /* its own key took the lease */
    assert_true(hash_equal(&asked[3].grant.lease.hash, &asked[0].grant.lease.hash));
    assert_true(asked[0].grant.lease.bid_stroops > 0);
    assert_int_equal(asked[3].grant.lease.bid_stroops, 0); /* it is sent once */
    assert_of_another(&asked[1], &asked[0]);
    assert_of_another(&asked[2], &asked[0]);
    assert_of_another(&asked[4], &asked[0]);
    assert_of_another(&asked[5], &asked[0]);
    asked_wipe_all(asked, 6);
}

static void a_retry_under_a_key_that_got_another_requests_hash_gets_it_again(void **state)
{
    struct test_pool *pool = *state;
    const struct asked first = granted(pool, "call", "a", true);
    struct asked twins[2];
    for (size_t i = 0; i < 2; i++)
        ask_call(pool, &twins[i], "call", "b", true);
    grant_on(pool, twins, 2);
    assert_of_another(&twins[0], &first);
    assert_of_another(&twins[1], &first);
    const struct asked again = granted(pool, "call", "b", true), own = granted(pool, "call", "a", true);
    assert_of_another(&again, &first);
    assert_new(&own);
    assert_true(hash_equal(&own.grant.lease.hash, &first.grant.lease.hash));
    assert_int_equal(lease_rows(pool), 1);
    asked_wipe_all(twins, 2);
}

static void end_all(struct test_pool *pool, const struct asked *asked, const char *result)
{
    const struct lease *lease = &asked->grant.lease;
    test_pool_include(pool->db, &lease, 1);
    AUTO_FREE char *sql = mem_format(
        TEST_UNCHECKED("UPDATE fairway.lease_results SET result = '%s' WHERE result = 'confirmed'"), result);
    test_db_exec(&pool->test, sql);
}

static void a_call_is_held_by_an_end_with_which_it_may_have_been_executed_and_freed_by_others(void **state)
{
    struct test_pool *pool = *state;
    const struct {
        const char *result;
        bool holds;
    } ends[] = {{"confirmed", true}, {"consumed", true}, {"failed", false}, {"expired", false},
        {"superseded", false}};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        const char *const call = ends[i].result;
        struct asked first, retry;
        ask_call(pool, &first, call, call, true);
        grant_on(pool, &first, 1);
        assert_new(&first);
        const struct asked open = granted(pool, call, "", false);
        assert_of_another(&open, &first);
        end_all(pool, &first, ends[i].result);
        const struct asked later = granted(pool, call, "", true), third = granted(pool, call, "", false);
        if (ends[i].holds) {
            assert_of_another(&later, &first);
            assert_of_another(&third, &first);
        } else {
            assert_new(&later);
            assert_false(hash_equal(&later.grant.lease.hash, &first.grant.lease.hash));
            assert_of_another(&third, &later); /* the second lease holds it now */
        }
        ask_call(pool, &retry, call, call, true);
        grant_on(pool, &retry, 1);
        assert_new(&retry);
        assert_true(hash_equal(&retry.grant.lease.hash, &first.grant.lease.hash));
        asked_wipe(&retry);
        asked_wipe(&first);
    }
}

/* The retry of a request whose lease has failed is not the call's next lease. */
static void a_freed_call_is_leased_beside_a_retry_of_the_request_that_failed(void **state)
{
    struct test_pool *pool = *state;
    struct asked first, both[2];
    ask_call(pool, &first, "call", "a", true);
    grant_on(pool, &first, 1);
    end_all(pool, &first, "failed");
    ask_call(pool, &both[0], "call", "a", true);
    ask_call(pool, &both[1], "call", "b", true);
    grant_on(pool, both, 2);
    assert_new(&both[0]);
    assert_new(&both[1]);
    assert_true(hash_equal(&both[0].grant.lease.hash, &first.grant.lease.hash));
    assert_false(hash_equal(&both[1].grant.lease.hash, &first.grant.lease.hash));
    assert_int_equal(lease_rows(pool), 2);
    asked_wipe(&first);
    asked_wipe_all(both, 2);
}

static void clients_do_not_share_calls(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++) {
        ask_call(pool, &asked[i], "call", "", true);
        snprintf(asked[i].request.client, sizeof asked[i].request.client, "client %zu", i);
    }
    grant_on(pool, asked, 2);
    assert_new(&asked[0]);
    assert_new(&asked[1]);
    assert_int_equal(lease_rows(pool), 2);
    asked_wipe_all(asked, 2);
}

/* The simulation of a call that the network has executed fails: its nonce is used. */
static void a_repeat_that_would_be_refused_now_still_gets_the_hash(void **state)
{
    struct test_pool *pool = *state;
    struct asked first, repeat, fresh;
    ask_call(pool, &first, "call", "a", true);
    grant_on(pool, &first, 1);
    end_all(pool, &first, "confirmed");
    ask_call(pool, &repeat, "call", "b", true);
    ask_call(pool, &fresh, "another", "c", true);
    repeat.request.refusal = fresh.request.refusal = ERR_INVALID_TRANSACTION;
    grant_on(pool, &repeat, 1);
    assert_of_another(&repeat, &first);
    grant_on(pool, &fresh, 1);
    assert_int_equal(fresh.grant.error, ERR_INVALID_TRANSACTION);
    asked_wipe(&first);
    asked_wipe(&repeat);
    asked_wipe(&fresh);
}

static void a_call_whose_first_request_is_refused_is_free_for_the_next(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    ask_call(pool, &asked[0], "call", "a", true);
    ask_call(pool, &asked[1], "call", "b", true);
    asked[0].request.refusal = ERR_INVALID_TRANSACTION;
    grant_on(pool, asked, 2);
    assert_int_equal(asked[0].grant.state, GRANT_REFUSED);
    assert_int_equal(asked[1].grant.state, GRANT_OPEN);
    assert_int_equal(asked[1].grant.open, OPEN_KEY_LOCKED);
    grant_on(pool, &asked[1], 1);
    assert_new(&asked[1]);
    asked_wipe_all(asked, 2);
}

/* ---- replicas that race for one call */

struct racer {
    struct test_pool replica;
    pthread_barrier_t *barrier;
    size_t number;
    struct grant grants[ROUNDS];
    pthread_t thread;
};

static void *race(void *context)
{
    struct racer *racer = context;
    for (int round = 0; round < ROUNDS; round++) {
        AUTO_FREE char *call = mem_format("round %d", round),
                       *key = mem_format("%d %zu", round, racer->number);
        struct asked asked;
        ask_call(&racer->replica, &asked, call, key, true);
        pthread_barrier_wait(racer->barrier);
        while (asked.grant.state == GRANT_OPEN)
            if (test_pool_grant(&racer->replica, &asked, 1, NULL) != ERR_OK)
                abort();
        racer->grants[round] = asked.grant;
        sample_wipe(&asked.sample);
        pthread_barrier_wait(racer->barrier);
        const struct lease *lease = &racer->grants[round].lease;
        if (!asked.grant.is_of_another && asked.grant.state == GRANT_DONE)
            test_pool_include(racer->replica.db, &lease, 1);
        pthread_barrier_wait(racer->barrier);
    }
    return NULL;
}

static void of_replicas_that_race_for_a_call_one_takes_a_lease_and_all_get_its_hash(void **state)
{
    struct test_pool *pool = *state;
    static struct racer racers[REPLICAS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, REPLICAS);
    for (size_t i = 0; i < REPLICAS; i++) {
        racers[i] = (struct racer){.replica = *pool, .barrier = &barrier, .number = i};
        racers[i].replica.db = test_db_open(&pool->test);
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(racers[i].thread, NULL);
    assert_int_equal(lease_rows(pool), ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        size_t firsts = 0;
        for (size_t i = 0; i < REPLICAS; i++) {
            assert_true(hash_equal(&racers[i].grants[round].lease.hash, &racers[0].grants[round].lease.hash));
            firsts += !racers[i].grants[round].is_of_another;
        }
        assert_int_equal(firsts, 1);
        for (size_t i = 0; i < REPLICAS; i++)
            lease_wipe(&racers[i].grants[round].lease);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        db_free(racers[i].replica.db);
    pthread_barrier_destroy(&barrier);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_pool_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_batch_for_one_call_takes_one_lease_and_the_others_get_its_hash),
        TEST(a_retry_under_a_key_that_got_another_requests_hash_gets_it_again),
        TEST(a_call_is_held_by_an_end_with_which_it_may_have_been_executed_and_freed_by_others),
        TEST(a_freed_call_is_leased_beside_a_retry_of_the_request_that_failed),
        TEST(clients_do_not_share_calls),
        TEST(a_repeat_that_would_be_refused_now_still_gets_the_hash),
        TEST(a_call_whose_first_request_is_refused_is_free_for_the_next),
        TEST(of_replicas_that_race_for_a_call_one_takes_a_lease_and_all_get_its_hash),
    };
    return cmocka_run_group_tests_name("natural key", tests, test_pg_start, test_pg_stop);
}
