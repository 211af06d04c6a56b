/*
 * An idempotency key takes one lease, however often, in whatever replica and whenever it is sent again (DL9).
 * A key that took no lease can be used again. A claim, which is what the network will consume, has one lease
 * of a client, whatever the keys of its requests.
 */
#include "support/keyd.h"
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "grant/idempotency.h"
#include "slowness.h"

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

/* Makes a request with this key, and the digest of this text as that of its body. */
static void ask_keyed(const struct test_pool *pool, struct asked *asked, const char *key, const char *body)
{
    ask(pool, asked);
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "%s", key);
    asked->request.digest = hash_of(body);
}

/* Runs a batch of one request with this key and body; the caller checks its state. */
static void grant_keyed(struct test_pool *pool, struct asked *asked, const char *key, const char *body)
{
    ask_keyed(pool, asked, key, body);
    test_pool_decide(pool, asked, 1);
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

/* An envelope can be large, and whoever has a key could have it read again and again. */
TEST(the_envelope_is_read_only_for_the_same_body)
{
    struct test_pool *pool = *state;
    struct asked first CLEANUP(asked_wipe), later[2];
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
}

TEST(DL9_another_body_with_the_same_key_is_a_conflict_and_takes_nothing)
{
    struct test_pool *pool = *state;
    struct asked together[2], later CLEANUP(asked_wipe);
    ask_keyed(pool, &together[0], "a", "body");
    ask_keyed(pool, &together[1], "a", "another");
    test_pool_decide(pool, together, 2);
    assert_int_equal(together[0].grant.state, GRANT_DONE);
    assert_refused(&together[1], ERR_IDEMPOTENCY_CONFLICT);
    grant_keyed(pool, &later, "a", "another");
    assert_refused(&later, ERR_IDEMPOTENCY_CONFLICT);
    assert_int_equal(lease_rows(pool), 1);
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe_all(together, 2);
}

TEST(DL9_clients_do_not_share_keys)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++) {
        ask_keyed(pool, &asked[i], "a", i == 0 ? "body" : "another");
        snprintf(asked[i].request.client, sizeof asked[i].request.client, "client %zu", i);
    }
    test_pool_decide(pool, asked, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(asked[i].grant.state, GRANT_DONE);
    assert_false(hash_equal(&asked[0].grant.lease.hash, &asked[1].grant.lease.hash));
    asked_wipe_all(asked, 2);
}

TEST(DL9_a_key_that_took_no_lease_is_free)
{
    struct test_pool *pool = *state;
    struct asked refused[3], again CLEANUP(asked_wipe);
    for (size_t i = 0; i < 3; i++) {
        ask_keyed(pool, &refused[i], "a", i < 2 ? "body" : "another");
        refused[i].request.named.keys[0] = pool->accounts[0]; /* an operation of a pool account */
    }
    test_pool_decide(pool, refused, 3);
    assert_refused(&refused[0], ERR_FORBIDDEN_SIGNER);
    assert_refused(&refused[1], ERR_FORBIDDEN_SIGNER);    /* the same request */
    assert_int_equal(refused[2].grant.state, GRANT_OPEN); /* another body: checked by itself */
    assert_int_equal(refused[2].grant.open, OPEN_KEY_LOCKED);
    grant_keyed(pool, &again, "a", "another");
    assert_int_equal(again.grant.state, GRANT_DONE);
    asked_wipe_all(refused, 3);
}

TEST(DL9_a_key_that_found_no_account_is_free_for_every_request_that_carries_it)
{
    struct test_pool *pool = *state;
    struct asked waiting[2], other[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++)
        ask(pool, &other[i]);
    test_pool_decide(pool, other, ACCOUNTS);
    for (size_t i = 0; i < 2; i++)
        ask_keyed(pool, &waiting[i], "a", "body");
    test_pool_decide(pool, waiting, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(waiting[i].grant.state, GRANT_OPEN);
        assert_int_equal(waiting[i].grant.open, OPEN_NO_ACCOUNT);
    }
    const struct lease *ended = &other[0].grant.lease;
    test_pool_include(pool->db, &ended, 1);
    test_pool_decide(pool, waiting, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(waiting[i].grant.state, GRANT_DONE);
    assert_same_lease(&waiting[0].grant.lease, &waiting[1].grant.lease);
    asked_wipe_all(other, ACCOUNTS);
    asked_wipe_all(waiting, 2);
}

TEST(DL9_a_key_locked_by_another_transaction_blocks_no_batch)
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
    test_pool_decide(pool, asked, 2);
    assert_true(clock_ms() - begun_ms < slower(1500)); /* below lock_timeout */
    assert_int_equal(asked[0].grant.state, GRANT_OPEN);
    assert_int_equal(asked[0].grant.open, OPEN_KEY_LOCKED);
    assert_int_equal(asked[1].grant.state, GRANT_DONE);
    db_free(stalled);
    for (int64_t deadline_ms = clock_ms() + slower(5000); asked[0].grant.state == GRANT_OPEN;) {
        assert_true(clock_ms() < deadline_ms);
        test_pool_decide(pool, asked, 1);
    }
    assert_int_equal(asked[0].grant.state, GRANT_DONE);
    asked_wipe_all(asked, 2);
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

TEST(DL9_a_retry_gets_its_lease_only_after_a_commit)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe), retry CLEANUP(asked_wipe);
    grant_keyed(pool, &asked, "a", "body");
    ask_keyed(pool, &retry, "a", "body");
    const char *flushed = "SELECT (pg_current_wal_flush_lsn() - '0/0')::int8";
    const int64_t from = test_db_number(&pool->test, flushed);
    judge(pool, &retry);
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_same_lease(&retry.grant.lease, &asked.grant.lease);
    assert_true(test_db_number(&pool->test, flushed) > from);
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

TEST(DL9_a_key_is_found_on_the_day_of_its_lease_and_on_the_next_and_not_later)
{
    struct test_pool *pool = *state;
    struct asked old CLEANUP(asked_wipe), young CLEANUP(asked_wipe), again;
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
    asked_wipe(&again);
}

/* ---- claims */

/* Makes a request under this key, for a call of this function that claims each letter of claims. */
static void ask_call(const struct test_pool *pool, struct asked *asked, const char *function,
    const char *claims, const char *key)
{
    struct authorization *authorization = &asked->request.authorization;
    ask(pool, asked);
    asked->request.submits = true;
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "%s", key);
    asked->request.digest = hash_of(claims);
    *authorization = (struct authorization){.expires_ledger = 2000,
        .function = hash_of(function),
        .entries = NEW_ARRAY(strlen(claims), struct authorization_entry),
        .count = strlen(claims)};
    for (size_t i = 0; i < authorization->count; i++) {
        const struct bytes claim = {(const uint8_t *)&claims[i], 1};
        authorization->entries[i] =
            (struct authorization_entry){.key = claim, .expires_ledger = 2000, .content = sha256(claim)};
    }
}

/* Runs a batch of one, and keeps what is not bytes. */
static struct asked granted(struct test_pool *pool, const char *function, const char *claims, const char *key)
{
    struct asked asked;
    ask_call(pool, &asked, function, claims, key);
    test_pool_decide(pool, &asked, 1);
    const struct grant grant = asked.grant;
    asked_wipe(&asked);
    asked.grant = grant;
    asked.grant.lease.envelope = asked.grant.lease.bid = (struct buf){0};
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
    assert_int_equal(asked->grant.state, GRANT_DONE);
}

/* The same claim, in another call. */
static void assert_leased(const struct asked *asked, const struct asked *of)
{
    assert_refused(asked, ERR_AUTHORIZATION_LEASED);
    assert_true(hash_equal(&asked->grant.lease.hash, &of->grant.lease.hash));
}

TEST(DL9_a_batch_for_one_call_takes_one_lease_and_the_others_get_its_hash)
{
    struct test_pool *pool = *state;
    struct asked asked[6];
    for (size_t i = 0; i < 6; i++) {
        const char *const keys[] = {"a", "b", "c", "a", "", ""};
        ask_call(pool, &asked[i], "f", "A", keys[i]);
    }
    asked[1].request.submits = false;
    test_pool_decide(pool, asked, 6);
    assert_int_equal(test_db_number(&pool->test, "SELECT count(*) FROM fairway.lease_claims"), 1);
    assert_new(&asked[0]);
    assert_new(&asked[3]); /* its own key took the lease */
    assert_true(hash_equal(&asked[3].grant.lease.hash, &asked[0].grant.lease.hash));
    assert_true(asked[0].grant.lease.bid_stroops > 0);
    assert_int_equal(asked[3].grant.lease.bid_stroops, 0); /* it is sent once */
    for (size_t i = 1; i < 6; i++) {
        if (i == 3)
            continue;
        assert_int_equal(asked[i].grant.open, OPEN_KEY_LOCKED);
        test_pool_decide(pool, &asked[i], 1);
        if (i == 1)
            assert_leased(&asked[i], &asked[0]); /* it does not submit */
        else
            assert_of_another(&asked[i], &asked[0]);
    }
    assert_int_equal(lease_rows(pool), 1);
    asked_wipe_all(asked, 6);
}

TEST(a_retry_under_a_key_that_got_another_requests_hash_gets_it_again)
{
    struct test_pool *pool = *state;
    const struct asked first = granted(pool, "f", "A", "a");
    struct asked twins[2];
    for (size_t i = 0; i < 2; i++)
        ask_call(pool, &twins[i], "f", "A", "b");
    test_pool_decide(pool, twins, 2);
    assert_of_another(&twins[0], &first);
    assert_of_another(&twins[1], &first);
    const struct asked again = granted(pool, "f", "A", "b"), own = granted(pool, "f", "A", "a");
    assert_of_another(&again, &first);
    assert_new(&own);
    assert_true(hash_equal(&own.grant.lease.hash, &first.grant.lease.hash));
    assert_int_equal(lease_rows(pool), 1);
    asked_wipe_all(twins, 2);
}

TEST(a_key_that_got_another_requests_hash_is_free_for_another_body)
{
    struct test_pool *pool = *state;
    const struct asked first = granted(pool, "f", "A", "a");
    struct asked both[2];
    ask_call(pool, &both[0], "f", "A", "b");
    ask_call(pool, &both[1], "f", "B", "b");
    test_pool_decide(pool, both, 2);
    assert_of_another(&both[0], &first);
    assert_int_equal(both[1].grant.open, OPEN_KEY_LOCKED);
    test_pool_decide(pool, &both[1], 1);
    assert_new(&both[1]);
    asked_wipe_all(both, 2);
}

TEST(DL9_another_call_with_a_claim_in_common_is_refused_with_the_hash)
{
    struct test_pool *pool = *state;
    struct asked first, others[4];
    static const char *const calls[][2] = {{"g", "AB"}, {"f", "ABC"}, {"f", "A"}, {"f", "CB"}};
    ask_call(pool, &first, "f", "AB", "");
    test_pool_decide(pool, &first, 1);
    assert_new(&first);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        ask_call(pool, &others[i], calls[i][0], calls[i][1], "");
    test_pool_decide(pool, others, 4);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        assert_leased(&others[i], &first);
    const struct asked free = granted(pool, "f", "C", "");
    assert_new(&free);
    asked_wipe(&first);
    asked_wipe_all(others, 4);
}

/* What was consumed is not known of a request whose simulation failed, as that of an executed call does. */
TEST(a_repeat_that_is_refused_now_gets_the_hash_whatever_entries_it_carries_along)
{
    struct test_pool *pool = *state;
    struct asked first, repeats[4];
    static const char *const calls[][2] = {{"f", "A"}, {"f", "AXY"}, {"g", "A"}, {"f", "B"}};
    const struct asked other = granted(pool, "h", "X", "");
    assert_new(&other);
    ask_call(pool, &first, "f", "A", "");
    test_pool_decide(pool, &first, 1);
    const struct lease *lease = &first.grant.lease;
    test_pool_include(pool->db, &lease, 1);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        ask_call(pool, &repeats[i], calls[i][0], calls[i][1], "");
        repeats[i].request.refusal = ERR_INVALID_TRANSACTION;
    }
    test_pool_decide(pool, repeats, 4);
    assert_of_another(&repeats[0], &first);
    assert_of_another(&repeats[1], &first);
    assert_refused(&repeats[2], ERR_INVALID_TRANSACTION);
    assert_refused(&repeats[3], ERR_INVALID_TRANSACTION);
    asked_wipe(&first);
    asked_wipe_all(repeats, 4);
}

/* The retry of a request whose lease has failed is not the call's next lease. */
TEST(a_freed_call_is_leased_beside_a_retry_of_the_request_that_failed)
{
    struct test_pool *pool = *state;
    struct asked first, both[2];
    ask_call(pool, &first, "f", "A", "a");
    test_pool_decide(pool, &first, 1);
    const struct lease *lease = &first.grant.lease;
    const struct built_transaction failed = {.hash = lease->hash, .code = -1};
    const struct built_account account = {.key = lease->account, .sequence = lease->sequence};
    test_pool_close_ledger(pool->db,
        &(struct built_ledger){
            .transactions = &failed, .transaction_count = 1, .accounts = &account, .account_count = 1});
    ask_call(pool, &both[0], "f", "A", "a");
    ask_call(pool, &both[1], "f", "A", "b");
    test_pool_decide(pool, both, 2);
    assert_new(&both[0]);
    assert_new(&both[1]);
    assert_true(hash_equal(&both[0].grant.lease.hash, &first.grant.lease.hash));
    assert_false(hash_equal(&both[1].grant.lease.hash, &first.grant.lease.hash));
    assert_int_equal(lease_rows(pool), 2);
    asked_wipe(&first);
    asked_wipe_all(both, 2);
}

/* Two entries with one nonce, of which the network may use either. */
TEST(a_claim_is_kept_for_as_long_as_any_entry_with_its_nonce_counts)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    ask_call(pool, &asked, "f", "AA", "");
    asked.request.authorization.entries[1].expires_ledger = 3000;
    test_pool_decide(pool, &asked, 1);
    assert_new(&asked);
    assert_int_equal(test_db_number(&pool->test, "SELECT expires_ledger FROM fairway.lease_claims"), 3000);
}

TEST(clients_do_not_share_claims)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++) {
        ask_call(pool, &asked[i], "f", "A", "");
        snprintf(asked[i].request.client, sizeof asked[i].request.client, "client %zu", i);
    }
    test_pool_decide(pool, asked, 2);
    assert_new(&asked[0]);
    assert_new(&asked[1]);
    assert_int_equal(lease_rows(pool), 2);
    asked_wipe_all(asked, 2);
}

TEST(a_call_whose_first_request_is_refused_is_free_for_the_next)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    ask_call(pool, &asked[0], "f", "A", "a");
    ask_call(pool, &asked[1], "f", "A", "b");
    asked[0].request.refusal = ERR_INVALID_TRANSACTION;
    test_pool_decide(pool, asked, 2);
    assert_int_equal(asked[0].grant.state, GRANT_REFUSED);
    assert_new(&asked[1]);
    asked_wipe_all(asked, 2);
}

/* ---- two replicas whose batches have claims in common, in another order */

struct crossing {
    struct test_pool replica;
    struct asked asked;
    pthread_t thread;
};

static void *grant_crossing(void *context)
{
    struct crossing *crossing = context;
    test_pool_decide(&crossing->replica, &crossing->asked, 1);
    return NULL;
}

static void await_waiting(const struct test_pool *pool, int64_t sessions)
{
    while (test_db_number(&pool->test, "SELECT count(*) FROM pg_locks WHERE NOT granted") < sessions)
        clock_sleep_ms(5);
}

/* The first batch has A, and waits for M, which a third session has, before it takes B. */
TEST(DL9_batches_with_the_same_claims_in_another_order_do_not_deadlock)
{
    struct test_pool *pool = *state;
    struct crossing crossings[2];
    AUTO_DB third = test_db_open(&pool->test);
    assert_int_equal(db_begin(third, NULL), ERR_OK);
    assert_int_equal(
        db_query(third,
            DB_SQL0("INSERT INTO fairway.lease_claims VALUES (2000, now(), '', 'M', '', sha256(''), '')"),
            NULL, NULL),
        ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        crossings[i].replica = *pool;
        crossings[i].replica.db = test_db_open(&pool->test);
        ask_call(pool, &crossings[i].asked, "f", i == 0 ? "AMB" : "BA", "");
        assert_int_equal(pthread_create(&crossings[i].thread, NULL, grant_crossing, &crossings[i]), 0);
        await_waiting(pool, (int64_t)i + 1);
    }
    db_rollback(third);
    for (size_t i = 0; i < 2; i++)
        pthread_join(crossings[i].thread, NULL);
    assert_new(&crossings[0].asked);
    assert_leased(&crossings[1].asked, &crossings[0].asked);
    assert_int_equal(test_db_number(&pool->test, "SELECT deadlocks FROM pg_stat_database"
                                                 " WHERE datname = current_database()"),
        0);
    for (size_t i = 0; i < 2; i++) {
        asked_wipe(&crossings[i].asked);
        db_free(crossings[i].replica.db);
    }
}

/* ---- replicas that race for one key, or for one call under different keys */

struct racer {
    struct test_pool replica;
    pthread_barrier_t *barrier;
    size_t number;
    bool by_call;
    struct grant grants[ROUNDS];
    pthread_t thread;
};

static void *race(void *context)
{
    struct racer *racer = context;
    for (int round = 0; round < ROUNDS; round++) {
        AUTO_FREE char *text = mem_format("%c", '!' + round), /* also the one claim */
            *key = mem_format("%d %zu", round, racer->number);
        struct asked asked;
        if (racer->by_call)
            ask_call(&racer->replica, &asked, "f", text, key);
        else
            ask_keyed(&racer->replica, &asked, text, "body");
        pthread_barrier_wait(racer->barrier);
        while (asked.grant.state == GRANT_OPEN)
            test_pool_decide(&racer->replica, &asked, 1);
        racer->grants[round] = asked.grant;
        authorization_free(&asked.request.authorization);
        sample_wipe(&asked.sample);
        pthread_barrier_wait(racer->barrier);
        const struct lease *lease = &racer->grants[round].lease;
        if (racer->by_call ? !asked.grant.is_of_another : racer->number == 0)
            test_pool_include(racer->replica.db, &lease, 1); /* so accounts become idle again */
        pthread_barrier_wait(racer->barrier);
    }
    return NULL;
}

static void race_for_leases(struct test_pool *pool, bool by_call)
{
    static struct racer racers[REPLICAS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, REPLICAS);
    for (size_t i = 0; i < REPLICAS; i++) {
        racers[i] = (struct racer){.replica = *pool, .barrier = &barrier, .number = i, .by_call = by_call};
        racers[i].replica.db = test_db_open(&pool->test);
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(racers[i].thread, NULL);
    assert_int_equal(lease_rows(pool), ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        const struct lease *first = &racers[0].grants[round].lease;
        size_t own = 0;
        for (size_t i = 0; i < REPLICAS; i++) {
            const struct grant *grant = &racers[i].grants[round];
            own += !grant->is_of_another;
            assert_true(hash_equal(&grant->lease.hash, &first->hash));
            if (!by_call)
                assert_same_lease(&grant->lease, first);
        }
        assert_int_equal(own, by_call ? 1 : REPLICAS);
        for (size_t i = 0; i < REPLICAS; i++)
            lease_wipe(&racers[i].grants[round].lease);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        db_free(racers[i].replica.db);
    pthread_barrier_destroy(&barrier);
}

TEST(DL10_of_replicas_that_race_for_a_key_one_takes_a_lease_and_all_get_it)
{
    race_for_leases(*state, false);
}

TEST(of_replicas_that_race_for_a_call_one_takes_a_lease_and_all_get_its_hash)
{
    race_for_leases(*state, true);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
