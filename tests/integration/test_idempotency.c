/*
 * An idempotency key takes one lease, however often, in whatever replica and whenever it is sent again (DL9).
 * A key that took no lease can be used again.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "grant/idempotency.h"
#include "support/proxy.h"
#include "slowness.h"

#define ACCOUNTS 8
#define REPLICAS 4
#define ROUNDS 60

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

/* Makes a request with this key, and the digest of this text as that of its body. */
static void ask_keyed(const struct test_pool *pool, struct asked *asked, const char *key, const char *body)
{
    ask(pool, asked);
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "%s", key);
    asked->request.digest = sha256((struct bytes){(const uint8_t *)body, strlen(body)});
}

static void grant_on(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    enum err e = test_pool_grant(pool, asked, count, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
}

/* Runs a batch of one request with this key and body; the caller checks its state. */
static void grant_keyed(struct test_pool *pool, struct asked *asked, const char *key, const char *body)
{
    ask_keyed(pool, asked, key, body);
    grant_on(pool, asked, 1);
}

static void assert_same_lease(const struct lease *a, const struct lease *b)
{
    assert_true(hash_equal(&a->hash, &b->hash));
    assert_true(public_key_equal(&a->account, &b->account));
    assert_int_equal(a->sequence, b->sequence);
    assert_int_equal(a->sequence_ledger, b->sequence_ledger);
    assert_int_equal(a->max_time_s, b->max_time_s);
    assert_true(bytes_equal(buf_bytes(&a->envelope), buf_bytes(&b->envelope)));
}

static void assert_refused(const struct asked *asked, enum err e)
{
    assert_int_equal(asked->grant.state, GRANT_REFUSED);
    assert_int_equal(asked->grant.error, e);
}

static void DL10_a_whole_batch_with_one_key_takes_one_lease_and_all_get_its_bytes(void **state)
{
    struct test_pool *pool = *state;
    struct asked *asked AUTO_FREE = NEW_ARRAY(GRANT_BATCH_MAX, struct asked);
    for (size_t i = 0; i < GRANT_BATCH_MAX; i++)
        ask_keyed(pool, &asked[i], "one", "body");
    grant_on(pool, asked, GRANT_BATCH_MAX);
    assert_int_equal(lease_rows(pool), 1);
    for (size_t i = 0; i < GRANT_BATCH_MAX; i++) {
        assert_int_equal(asked[i].grant.state, GRANT_DONE);
        assert_lease_signed(pool, &asked[i].grant.lease);
        assert_same_lease(&asked[i].grant.lease, &asked[0].grant.lease);
    }
    for (size_t i = 0; i < GRANT_BATCH_MAX; i++)
        asked_wipe(&asked[i]);
}

static void DL9_a_retry_gets_the_stored_bytes_also_when_the_account_has_moved_on(void **state)
{
    struct test_pool *pool = *state;
    struct asked first, retry;
    grant_keyed(pool, &first, "a", "body");
    const struct lease *lease = &first.grant.lease;
    test_pool_include(pool->db, &lease, 1);
    for (int leases = 0; leases < ACCOUNTS; leases++) { /* other requests use the account */
        struct asked other;
        grant_keyed(pool, &other, "", "");
        assert_int_equal(other.grant.state, GRANT_DONE);
        asked_wipe(&other);
    }
    grant_keyed(pool, &retry, "a", "body");
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_same_lease(&retry.grant.lease, lease);
    assert_int_equal(lease_rows(pool), 1 + ACCOUNTS);
    asked_wipe(&first);
    asked_wipe(&retry);
}

static void DL9_a_retry_needs_no_idle_account(void **state)
{
    struct test_pool *pool = *state;
    struct asked first, retry, other[ACCOUNTS];
    grant_keyed(pool, &first, "a", "body");
    for (size_t i = 0; i < ACCOUNTS; i++)
        ask(pool, &other[i]);
    grant_on(pool, other, ACCOUNTS);
    assert_int_equal(other[ACCOUNTS - 1].grant.state, GRANT_OPEN); /* no account is idle */
    grant_keyed(pool, &retry, "a", "body");
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_same_lease(&retry.grant.lease, &first.grant.lease);
    for (size_t i = 0; i < ACCOUNTS; i++)
        asked_wipe(&other[i]);
    asked_wipe(&first);
    asked_wipe(&retry);
}

/* An envelope can be large, and whoever has a key could have it read again and again. */
static void the_envelope_is_read_only_for_the_same_body(void **state)
{
    struct test_pool *pool = *state;
    struct asked first, later[2];
    grant_keyed(pool, &first, "a", "body");
    for (size_t same = 0; same < 2; same++) {
        struct idempotency_keys *keys AUTO_FREE = NEW(struct idempotency_keys);
        struct db_statement statements[IDEMPOTENCY_STATEMENTS];
        struct grant *const grants[] = {&later[0].grant, &later[1].grant};
        AUTO_ROWS rows = NULL;
        ask_keyed(pool, &later[0], "a", "another");
        ask_keyed(pool, &later[1], "a", same ? "body" : "yet another");
        idempotency_init(keys, grants, 2);
        idempotency_statements(keys, statements);
        assert_int_equal(db_query(pool->db, statements[1], &rows, NULL), ERR_OK);
        assert_int_equal(db_count(rows), 1);
        assert_int_equal(!db_is_null(rows, 0, 6), same);
        idempotency_wipe(keys);
        asked_wipe(&later[0]);
        asked_wipe(&later[1]);
    }
    asked_wipe(&first);
}

static void DL9_another_body_with_the_same_key_is_a_conflict_and_takes_nothing(void **state)
{
    struct test_pool *pool = *state;
    struct asked together[2], later;
    ask_keyed(pool, &together[0], "a", "body");
    ask_keyed(pool, &together[1], "a", "another");
    grant_on(pool, together, 2);
    assert_int_equal(together[0].grant.state, GRANT_DONE);
    assert_refused(&together[1], ERR_IDEMPOTENCY_CONFLICT);
    grant_keyed(pool, &later, "a", "another");
    assert_refused(&later, ERR_IDEMPOTENCY_CONFLICT);
    assert_int_equal(lease_rows(pool), 1);
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe(&together[0]);
    asked_wipe(&together[1]);
    asked_wipe(&later);
}

static void DL9_clients_do_not_share_keys(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++) {
        ask_keyed(pool, &asked[i], "a", i == 0 ? "body" : "another");
        snprintf(asked[i].request.client, sizeof asked[i].request.client, "client %zu", i);
    }
    grant_on(pool, asked, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(asked[i].grant.state, GRANT_DONE);
    assert_false(hash_equal(&asked[0].grant.lease.hash, &asked[1].grant.lease.hash));
    for (size_t i = 0; i < 2; i++)
        asked_wipe(&asked[i]);
}

static void DL9_a_key_that_took_no_lease_is_free(void **state)
{
    struct test_pool *pool = *state;
    struct asked refused[3], again;
    for (size_t i = 0; i < 3; i++) {
        ask_keyed(pool, &refused[i], "a", i < 2 ? "body" : "another");
        refused[i].request.named.keys[0] = pool->accounts[0]; /* an operation of a pool account */
    }
    grant_on(pool, refused, 3);
    assert_refused(&refused[0], ERR_FORBIDDEN_SIGNER);
    assert_refused(&refused[1], ERR_FORBIDDEN_SIGNER);    /* the same request */
    assert_int_equal(refused[2].grant.state, GRANT_OPEN); /* another body: checked by itself */
    assert_int_equal(refused[2].grant.open, OPEN_KEY_LOCKED);
    grant_keyed(pool, &again, "a", "another");
    assert_int_equal(again.grant.state, GRANT_DONE);
    for (size_t i = 0; i < 3; i++)
        asked_wipe(&refused[i]);
    asked_wipe(&again);
}

static void DL9_a_key_that_found_no_account_is_free_for_every_request_that_carries_it(void **state)
{
    struct test_pool *pool = *state;
    struct asked waiting[2], other[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++)
        ask(pool, &other[i]);
    grant_on(pool, other, ACCOUNTS);
    for (size_t i = 0; i < 2; i++)
        ask_keyed(pool, &waiting[i], "a", "body");
    grant_on(pool, waiting, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(waiting[i].grant.state, GRANT_OPEN);
        assert_int_equal(waiting[i].grant.open, OPEN_NO_ACCOUNT);
    }
    const struct lease *ended = &other[0].grant.lease;
    test_pool_include(pool->db, &ended, 1);
    grant_on(pool, waiting, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(waiting[i].grant.state, GRANT_DONE);
    assert_same_lease(&waiting[0].grant.lease, &waiting[1].grant.lease);
    for (size_t i = 0; i < ACCOUNTS; i++)
        asked_wipe(&other[i]);
    for (size_t i = 0; i < 2; i++)
        asked_wipe(&waiting[i]);
}

static void DL9_a_key_locked_by_another_transaction_blocks_no_batch(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    /* another replica has locked the key and stopped */
    struct db *stalled = test_db_open(&pool->test);
    assert_int_equal(db_begin(stalled, NULL), ERR_OK);
    uint8_t name[] = "idempotency\0\0a"; /* purpose, client and key */
    const struct hash number = sha256((struct bytes){name, sizeof name - 1});
    assert_int_equal(
        db_query(stalled,
            DB_SQL("SELECT pg_advisory_xact_lock($1)::text", DB_I64((int64_t)be64_get(number.bytes))), NULL,
            NULL),
        ERR_OK);
    ask_keyed(pool, &asked[0], "a", "body");
    ask_keyed(pool, &asked[1], "b", "body");
    const int64_t begun_ms = clock_ms();
    grant_on(pool, asked, 2);
    assert_true(clock_ms() - begun_ms < slower(1500)); /* below lock_timeout */
    assert_int_equal(asked[0].grant.state, GRANT_OPEN);
    assert_int_equal(asked[0].grant.open, OPEN_KEY_LOCKED);
    assert_int_equal(asked[1].grant.state, GRANT_DONE);
    db_free(stalled);
    for (int64_t deadline_ms = clock_ms() + slower(5000); asked[0].grant.state == GRANT_OPEN;) {
        assert_true(clock_ms() < deadline_ms);
        grant_on(pool, asked, 1);
    }
    assert_int_equal(asked[0].grant.state, GRANT_DONE);
    asked_wipe(&asked[0]);
    asked_wipe(&asked[1]);
}

static void DL9_a_rolled_back_grant_leaves_no_key(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    struct detail detail = {0};
    test_db_exec(&pool->test,
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE integrity_constraint_violation; END $$;"
        "CREATE TRIGGER refuse AFTER INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.refuse()");
    ask_keyed(pool, &asked, "a", "body");
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_CONSTRAINT);
    assert_nothing_leased(pool);
    test_db_exec(&pool->test, "DROP TRIGGER refuse ON fairway.leases");
    grant_on(pool, &asked, 1);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    assert_int_equal(lease_rows(pool), 1);
    asked_wipe(&asked);
}

static void DL9_after_a_COMMIT_without_a_reply_the_retry_gets_the_committed_lease(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked, retry;
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    const char *port = strrchr(pool->test.url, ':'), *path = strrchr(pool->test.url, '/');
    AUTO_FREE char *through =
        mem_format("%.*s:%u%s", (int)(port - pool->test.url), pool->test.url, proxy_port(proxy), path);
    struct test_pool replica = *pool;
    replica.db = db_new(&(struct db_settings){.url = through, .name = "through a proxy"});
    proxy_arm(proxy, PROXY_CUT_AFTER, "fairway.record_leases"); /* in one packet with COMMIT */
    ask_keyed(pool, &asked, "a", "body");
    enum err e = test_pool_grant(&replica, &asked, 1, &detail);
    assert_true(e == ERR_OK || e == ERR_OUTCOME_UNKNOWN);
    assert_int_equal(lease_rows(pool), 1);
    grant_keyed(pool, &retry, "a", "body");
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_int_equal(lease_rows(pool), 1);
    if (e == ERR_OK)
        assert_same_lease(&retry.grant.lease, &asked.grant.lease);
    db_free(replica.db);
    proxy_free(proxy);
    asked_wipe(&asked);
    asked_wipe(&retry);
}

/* A GRANT_CHECK batch, as the engine runs it while accounts are short. */
static void judge(struct test_pool *pool, struct asked *asked)
{
    struct grant *const grants[] = {&asked->grant};
    struct grant_batch batch = {.grants = grants, .count = 1, .mode = GRANT_CHECK};
    struct detail detail = {0};
    if (grant_batch_run(pool->db, pool->keyd, &pool->settings, &batch, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static void DL9_a_retry_gets_its_lease_only_after_a_commit(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked, retry;
    grant_keyed(pool, &asked, "a", "body");
    ask_keyed(pool, &retry, "a", "body");
    const char *flushed = "SELECT (pg_current_wal_flush_lsn() - '0/0')::int8";
    const int64_t from = test_db_number(&pool->test, flushed);
    judge(pool, &retry);
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_same_lease(&retry.grant.lease, &asked.grant.lease);
    assert_true(test_db_number(&pool->test, flushed) > from);
    asked_wipe(&asked);
    asked_wipe(&retry);
}

/* A fee cap that was lowered since then must not change what a retry gets. */
static void DL9_a_retry_that_would_be_refused_now_still_gets_its_lease(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked, retry, fresh;
    grant_keyed(pool, &asked, "a", "body");
    ask_keyed(pool, &retry, "a", "body");
    ask_keyed(pool, &fresh, "b", "body");
    retry.request.refusal = fresh.request.refusal = ERR_FEE_EXCEEDS_MAXIMUM;
    judge(pool, &retry);
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_same_lease(&retry.grant.lease, &asked.grant.lease);
    grant_on(pool, &fresh, 1);
    assert_refused(&fresh, ERR_FEE_EXCEEDS_MAXIMUM);
    assert_int_equal(lease_rows(pool), 1);
    asked_wipe(&asked);
    asked_wipe(&retry);
    asked_wipe(&fresh);
}

/* Moves the lease of a key, and the key, to an earlier day. */
static void age_key(struct test_pool *pool, const char *key, int days)
{
    AUTO_FREE char *sql =
        mem_format("SELECT fairway.add_partitions(current_date - 7, current_date);" TEST_CHANGE_LEASES(
                       "granted_at = granted_at - interval '%d days'"
                       " WHERE hash = (SELECT lease_hash FROM fairway.idempotency_keys WHERE key = '%s')")
                       TEST_UNCHECKED("UPDATE fairway.idempotency_keys k SET granted_at = l.granted_at"
                                      " FROM fairway.leases l WHERE l.hash = k.lease_hash"),
            days, key);
    test_db_exec(&pool->test, sql);
}

static void DL9_a_key_is_found_on_the_day_of_its_lease_and_on_the_next_and_not_later(void **state)
{
    struct test_pool *pool = *state;
    struct asked old, young, again;
    grant_keyed(pool, &old, "old", "body");
    grant_keyed(pool, &young, "young", "body");
    age_key(pool, "old", 2);
    age_key(pool, "young", 1);
    grant_keyed(pool, &again, "young", "body");
    assert_same_lease(&again.grant.lease, &young.grant.lease);
    asked_wipe(&again);
    grant_keyed(pool, &again, "old", "another");
    assert_int_equal(again.grant.state, GRANT_DONE);
    assert_false(hash_equal(&again.grant.lease.hash, &old.grant.lease.hash));
    assert_int_equal(lease_rows(pool), 3);
    asked_wipe(&old);
    asked_wipe(&young);
    asked_wipe(&again);
}

/* ---- replicas that race for one key */

struct racer {
    struct test_pool replica;
    pthread_barrier_t *barrier;
    bool includes; /* granted leases, so that accounts become idle again */
    struct lease leases[ROUNDS];
    pthread_t thread;
};

static void *race(void *context)
{
    struct racer *racer = context;
    for (int round = 0; round < ROUNDS; round++) {
        AUTO_FREE char *key = mem_format("round %d", round);
        struct asked asked;
        ask_keyed(&racer->replica, &asked, key, "body");
        pthread_barrier_wait(racer->barrier);
        while (asked.grant.state == GRANT_OPEN)
            if (test_pool_grant(&racer->replica, &asked, 1, NULL) != ERR_OK)
                abort();
        racer->leases[round] = asked.grant.lease;
        sample_wipe(&asked.sample);
        pthread_barrier_wait(racer->barrier);
        if (racer->includes) {
            const struct lease *lease = &racer->leases[round];
            test_pool_include(racer->replica.db, &lease, 1);
        }
        pthread_barrier_wait(racer->barrier);
    }
    return NULL;
}

static void DL10_of_replicas_that_race_for_a_key_one_takes_a_lease_and_all_get_it(void **state)
{
    struct test_pool *pool = *state;
    static struct racer racers[REPLICAS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, REPLICAS);
    for (size_t i = 0; i < REPLICAS; i++) {
        racers[i] = (struct racer){.replica = *pool, .barrier = &barrier, .includes = i == 0};
        racers[i].replica.db = test_db_open(&pool->test);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(racers[i].thread, NULL);
    assert_int_equal(lease_rows(pool), ROUNDS);
    for (size_t i = 0; i < REPLICAS; i++) {
        for (int round = 0; round < ROUNDS; round++)
            assert_same_lease(&racers[i].leases[round], &racers[0].leases[round]);
        db_free(racers[i].replica.db);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        for (int round = 0; round < ROUNDS; round++)
            lease_wipe(&racers[i].leases[round]);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(DL10_a_whole_batch_with_one_key_takes_one_lease_and_all_get_its_bytes,
            set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_a_retry_gets_the_stored_bytes_also_when_the_account_has_moved_on,
            set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_a_retry_needs_no_idle_account, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            the_envelope_is_read_only_for_the_same_body, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_another_body_with_the_same_key_is_a_conflict_and_takes_nothing, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_clients_do_not_share_keys, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_a_key_that_took_no_lease_is_free, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_a_key_that_found_no_account_is_free_for_every_request_that_carries_it, set_up,
            test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_a_key_locked_by_another_transaction_blocks_no_batch, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_a_rolled_back_grant_leaves_no_key, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL9_after_a_COMMIT_without_a_reply_the_retry_gets_the_committed_lease,
            set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_a_retry_gets_its_lease_only_after_a_commit, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_a_retry_that_would_be_refused_now_still_gets_its_lease, set_up, test_pool_tear_down),
        cmocka_unit_test_setup_teardown(
            DL9_a_key_is_found_on_the_day_of_its_lease_and_on_the_next_and_not_later, set_up,
            test_pool_tear_down),
        cmocka_unit_test_setup_teardown(DL10_of_replicas_that_race_for_a_key_one_takes_a_lease_and_all_get_it,
            set_up, test_pool_tear_down),
    };
    return cmocka_run_group_tests(tests, test_pg_start, test_pg_stop);
}
