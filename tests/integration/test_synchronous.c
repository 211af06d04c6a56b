/*
 * What DATABASE_FAILOVER=synchronous relies on (DR10): no lease is returned and no creation is sent that the
 * synchronous standby may lack. If the wait for the standby is cancelled, PostgreSQL commits all the same and
 * only warns.
 */
#include "support/fee_bump.h"
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>

#include "../../src/ingest/ledger_commit.h"
#include "../../src/provision/session.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/ledger_feed.h"
#include "support/pool_seed.h"
#include "slowness.h"
#include "support/take_lead.h"

#define ACCOUNTS 3
#define TIMEOUT_MS 2000

static int set_up(void **state)
{
    test_pool_set_up(state, ACCOUNTS);
    struct test_pool *pool = *state;
    db_free(pool->db);
    pool->db = db_new(&(struct db_settings){
        .url = pool->test.url, .name = "synchronous", .statement_timeout_ms = TIMEOUT_MS});
    return 0;
}

static void set_standby(const char *name)
{
    const struct test_db postgres = {.url = (char *)(uintptr_t)test_pg_url()};
    AUTO_FREE char *sql = mem_format("ALTER SYSTEM SET synchronous_standby_names = '%s'", name);
    test_db_exec(&postgres, sql);
    test_db_exec(&postgres, "SELECT pg_reload_conf()");
    AUTO_FREE char *is_set =
        mem_format("SELECT (current_setting('synchronous_standby_names') = '%s')::int::int8", name);
    for (const int64_t deadline_ms = clock_ms() + slower(10000); test_db_number(&postgres, is_set) != 1;
         clock_sleep_ms(20))
        assert_true(clock_ms() < deadline_ms);
    clock_sleep_ms(200); /* open sessions reload when they are idle */
}

static int tear_down(void **state)
{
    set_standby("");
    return test_pool_tear_down(state);
}

/* Cancels all sessions that wait for the standby, as an operator might. */
static void *cancel_waits(void *stop)
{
    const struct test_db postgres = {.url = (char *)(uintptr_t)test_pg_url()};
    while (!__atomic_load_n((bool *)stop, __ATOMIC_SEQ_CST)) {
        test_db_exec(
            &postgres, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        clock_sleep_ms(100);
    }
    return NULL;
}

struct canceller {
    pthread_t thread;
    bool stop;
};

static void cancel_from_now(struct canceller *canceller)
{
    canceller->stop = false;
    assert_int_equal(pthread_create(&canceller->thread, NULL, cancel_waits, &canceller->stop), 0);
}

static void cancel_no_more(struct canceller *canceller)
{
    __atomic_store_n(&canceller->stop, true, __ATOMIC_SEQ_CST);
    pthread_join(canceller->thread, NULL);
}

static void ask_keyed(const struct test_pool *pool, struct asked *asked)
{
    ask(pool, asked);
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "key");
}

TEST(DR10_a_lease_that_the_standby_may_lack_is_not_returned)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe), retry CLEANUP(asked_wipe);
    struct detail detail = {0};
    struct canceller canceller;
    set_standby("nobody");
    cancel_from_now(&canceller);
    ask_keyed(pool, &asked);
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_NOT_REPLICATED);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_int_equal(lease_rows(pool), 1); /* it exists and keeps its account until a ledger ends it */
    assert_int_equal(leased_accounts(pool), 1);

    /* a retry finds it and does not get it either */
    ask_keyed(pool, &retry);
    assert_int_equal(test_pool_grant(pool, &retry, 1, &detail), ERR_NOT_REPLICATED);
    struct grant *const grants[] = {&retry.grant};
    struct grant_batch judged = {.grants = grants, .count = 1, .mode = GRANT_CHECK};
    assert_int_equal(
        grant_batch_run(pool->db, pool->keyd, &pool->settings, &judged, &detail), ERR_NOT_REPLICATED);
    assert_null(retry.grant.lease.envelope.data);

    set_standby("");
    cancel_no_more(&canceller);
    assert_int_equal(test_pool_grant(pool, &retry, 1, &detail), ERR_OK);
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_lease_signed(pool, &retry.grant.lease);
    assert_int_equal(lease_rows(pool), 1);
}

TEST(DR10_without_the_standby_the_outcome_is_unknown_within_the_timeouts)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    set_standby("nobody");
    const int64_t begun_ms = clock_ms();
    ask_keyed(pool, &asked);
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_OUTCOME_UNKNOWN);
    assert_true(clock_ms() - begun_ms < slower(15000));
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    set_standby("");
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_OK);
    while (asked.grant.state == GRANT_OPEN) /* until the session of the first attempt has ended */
        assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_OK);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    assert_int_equal(lease_rows(pool), 1);
}

TEST(DR10_after_a_ledger_that_the_standby_may_lack_the_leader_goes_on_from_it)
{
    struct test_pool *pool = *state;
    struct ledger_feed *feed = ledger_feed_new(POOL_SEED_LEDGER, 0);
    struct ledger_committed committed;
    struct rpc_ledger named = ledger_feed_ledger(feed, POOL_SEED_LEDGER);
    test_db_exec(&pool->test, "DELETE FROM fairway.cursor; DELETE FROM fairway.ledgers");
    struct lead lead = {
        .db = db_new(&(struct db_settings){
            .url = pool->test.url, .name = "synchronous", .statement_timeout_ms = TIMEOUT_MS}),
        .network = pool->settings.network,
        .locks = lock_numbers_of(&pool->settings.network),
        .ledger_ms = 5000};
    take_lead(&lead);
    assert_int_equal(commit_received(&lead, &named, &committed, NULL), ERR_OK);
    ledger_feed_close(feed, NULL);
    named = ledger_feed_ledger(feed, POOL_SEED_LEDGER + 1);
    struct canceller canceller;
    set_standby("nobody");
    cancel_from_now(&canceller);
    assert_int_equal(commit_received(&lead, &named, &committed, NULL), ERR_NOT_REPLICATED);
    assert_int_equal(lead.cursor.sequence, POOL_SEED_LEDGER + 1); /* it is committed here */
    ledger_feed_close(feed, NULL);
    named = ledger_feed_ledger(feed, POOL_SEED_LEDGER + 2);
    assert_int_equal(commit_received(&lead, &named, &committed, NULL), ERR_NOT_REPLICATED);
    lead_drop(&lead);
    /* although its own COMMIT does not wait for the standby either: cancelled waits must not stop ingestion
     */
    take_lead(&lead);
    cancel_no_more(&canceller);
    assert_int_equal(lead.cursor.sequence, POOL_SEED_LEDGER + 2);
    set_standby("");
    lead_free(&lead);
    ledger_feed_free(feed);
}

TEST(DR10_a_fee_bump_that_the_standby_may_lack_is_not_returned)
{
    struct test_pool *pool = *state;
    const struct hash bump = built_hash(7);
    struct asked asked CLEANUP(asked_wipe);
    const struct lease *lease = &asked.grant.lease;
    struct canceller canceller;
    test_pool_grant_all(pool, &asked, 1);
    set_standby("nobody");
    cancel_from_now(&canceller);
    for (int tries = 0; tries < 2; tries++) /* the second one finds its row */
        assert_int_equal(
            fee_bump_record_one(pool->db, &bump, &lease->hash, &lease->account, 400), ERR_NOT_REPLICATED);
    set_standby("");
    cancel_no_more(&canceller);
    assert_int_equal(fee_bump_record_one(pool->db, &bump, &lease->hash, &lease->account, 400), ERR_OK);
}

static enum err store_provisioning(struct session *session)
{
    const struct provisioning_tx transaction = {
        .kind = PROVISIONING_CREATION, .sequence = 5, .max_time_s = 77, .account_count = 1};
    const struct hash hash = built_hash(1);
    assert_int_equal(session_begin(session, NULL), ERR_OK);
    assert_int_equal(
        provisioning_store(session->db, &transaction, 0, BYTES_OF(hash.bytes), &hash, NULL), ERR_OK);
    return db_commit(session->db, NULL);
}

TEST(Z2_a_creation_that_the_standby_may_lack_is_not_sent)
{
    struct test_pool *pool = *state;
    struct session session = session_new(pool->test.url, &pool->settings.network);
    struct provisioning_list list CLEANUP(provisioning_pending_free) = {0};
    struct canceller canceller;
    assert_int_equal(session_take(&session, NULL), ERR_OK);
    set_standby("nobody");
    cancel_from_now(&canceller);
    assert_int_equal(store_provisioning(&session), ERR_NOT_REPLICATED);
    for (int reads = 0; reads < 2; reads++) {
        assert_int_equal(session_read_pending(&session, &list, NULL), ERR_NOT_REPLICATED);
        assert_int_equal(list.count, 0);
    }
    set_standby("");
    cancel_no_more(&canceller);
    assert_int_equal(session_read_pending(&session, &list, NULL), ERR_OK);
    assert_int_equal(list.count, 1);
    session_free(&session);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
