/*
 * Leases that fairway itself sends: lease, fee bump and submission are committed together or not at all, and
 * a bid that a limit forbids takes no account.
 */
#include "support/keyd.h"
#include "support/pool.h"

#include <stdio.h>

#include "base/mem.h"
#include "grant/bump.h"
#include "stellar/envelope_build.h"
#include "support/proxy.h"

#define ACCOUNTS 8
#define LEAST 200 /* the least fee of a fee bump of a payment */

static int set_up(void **state)
{
    const int failed = test_pool_set_up(state, ACCOUNTS);
    struct test_pool *pool = *state;
    pool->settings.limits.bump_base_fee_stroops = 100;
    pool->settings.limits.max_bump_fee_stroops = keyd_test_settings().max_bump_fee_stroops;
    return failed;
}

static void ask_to_send(const struct test_pool *pool, struct asked *asked, int64_t max_fee_stroops)
{
    ask(pool, asked);
    asked->request.submits = true;
    asked->request.max_fee_stroops = max_fee_stroops;
    snprintf(asked->request.client, sizeof asked->request.client, "wallet");
}

static void grant_on(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    enum err e = test_pool_grant(pool, asked, count, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
}

static int64_t rows(const struct test_pool *pool, const char *table)
{
    AUTO_FREE char *sql = mem_format("SELECT count(*) FROM fairway.%s", table);
    return test_db_number(&pool->test, sql);
}

/* The row says what is to be sent, in the bytes that the grant has. */
static void assert_submitted(struct test_pool *pool, const struct lease *lease, int64_t bid)
{
    AUTO_ROWS row = NULL;
    struct envelope view;
    assert_int_equal(lease->bid_stroops, bid);
    assert_int_equal(
        db_query(pool->db,
            DB_SQL("SELECT s.envelope, s.bid_envelope, s.bid_hash, s.bid, s.round_ledger, s.due_ledger"
                   " FROM fairway.submissions s JOIN fairway.fee_bumps b ON b.hash = s.bid_hash"
                   " AND b.lease_hash = s.lease_hash AND b.fee = s.bid WHERE s.lease_hash = $1",
                DB_BYTEA(BYTES_OF(lease->hash.bytes))),
            &row, NULL),
        ERR_OK);
    assert_int_equal(db_count(row), 1);
    assert_true(bytes_equal(db_bytea(row, 0, 0), buf_bytes(&lease->envelope)));
    assert_true(bytes_equal(db_bytea(row, 0, 1), buf_bytes(&lease->bid)));
    assert_true(bytes_equal(db_bytea(row, 0, 2), BYTES_OF(lease->bid_hash.bytes)));
    assert_int_equal(db_i64(row, 0, 3), bid);
    assert_int_equal(db_i64(row, 0, 4), lease->sent_ledger);
    assert_int_equal(db_i64(row, 0, 5), lease->sent_ledger + 1);
    assert_int_equal(envelope_decode(buf_bytes(&lease->bid), &view, NULL), ERR_OK);
    const struct hash inner = envelope_hash(&pool->settings.network, &view);
    assert_int_equal(view.form, ENVELOPE_FEE_BUMP);
    assert_true(hash_equal(&inner, &lease->hash));
}

static void a_lease_that_is_sent_is_committed_with_its_bid_and_its_submission(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[4];
    const int64_t caps[] = {0, 5000, LEAST + SUBMIT_RAISES, 0};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask_to_send(pool, &asked[i], caps[i]);
    asked[3].request.submits = false;
    grant_on(pool, asked, ARRAY_LEN(asked));
    assert_submitted(pool, &asked[0].grant.lease, LEAST);
    assert_submitted(pool, &asked[1].grant.lease, 5000 - SUBMIT_RAISES);
    assert_submitted(pool, &asked[2].grant.lease, LEAST);
    assert_int_equal(asked[3].grant.lease.bid_stroops, 0);
    assert_int_equal(rows(pool, "submissions"), 3);
    assert_int_equal(rows(pool, "fee_bumps"), 3);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

static void a_bid_that_is_refused_takes_no_account(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[4];
    const int64_t most = pool->settings.limits.max_bump_fee_stroops;
    const int64_t caps[] = {LEAST - 1, most + 1, 5000, 5000};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        ask_to_send(pool, &asked[i], caps[i]);
        asked[i].request.limits.most[LIMIT_STROOPS_PER_DAY] = 9000;
    }
    grant_on(pool, asked, ARRAY_LEN(asked));
    assert_int_equal(asked[0].grant.error, ERR_FEE_BELOW_MINIMUM);
    assert_int_equal(asked[1].grant.error, ERR_FEE_EXCEEDS_MAXIMUM);
    assert_int_equal(asked[2].grant.state, GRANT_DONE);
    assert_int_equal(asked[3].grant.state, GRANT_REFUSED); /* with the bid before it, above its day's limit */
    assert_int_equal(asked[3].grant.limit, LIMIT_STROOPS_PER_DAY);
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

static void a_bid_is_the_least_when_the_account_cannot_pay_more_beside_the_open_ones(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2], later;
    test_db_exec(&pool->test, "SELECT fairway.write_funds(1, 10000, 0, 0, 0, 10000)");
    for (size_t i = 0; i < 2; i++)
        ask_to_send(pool, &asked[i], 6000);
    grant_on(pool, asked, 2);
    assert_submitted(pool, &asked[0].grant.lease, 6000 - SUBMIT_RAISES);
    assert_submitted(pool, &asked[1].grant.lease, LEAST);
    ask_to_send(pool, &later, 6000);
    grant_on(pool, &later, 1);
    assert_submitted(pool, &later.grant.lease, LEAST);
    asked_wipe_all(asked, 2);
    asked_wipe(&later);
}

/* As when another replica has recorded a fee bump of the client between both round trips. */
static void a_client_that_has_spent_since_the_batch_began_gets_no_lease_without_a_bid(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    struct detail detail = {0};
    test_db_exec(&pool->test,
        "CREATE FUNCTION public.spend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO fairway.client_fees (client, day, stroops) VALUES ('wallet', '2999-01-01', 9000);"
        " RETURN NULL; END $$;"
        "CREATE TRIGGER spend AFTER INSERT ON fairway.leases FOR EACH STATEMENT"
        " EXECUTE FUNCTION public.spend()");
    ask_to_send(pool, &asked[0], 5000);
    asked[0].request.limits.most[LIMIT_STROOPS_PER_DAY] = 9000;
    ask(pool, &asked[1]);
    assert_int_equal(test_pool_grant(pool, asked, 2, &detail), ERR_SERIALIZATION);
    assert_nothing_leased(pool);
    test_db_exec(&pool->test,
        "DROP TRIGGER spend ON fairway.leases;"
        "INSERT INTO fairway.client_fees (client, day, stroops) VALUES ('wallet', '2999-01-01', 9000)");
    grant_on(pool, asked, 2); /* as the engine does */
    assert_int_equal(asked[0].grant.limit, LIMIT_STROOPS_PER_DAY);
    assert_int_equal(asked[1].grant.state, GRANT_DONE);
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe_all(asked, 2);
}

/* Of a lease above its client's limit, record_leases records nothing: so there is no bid of it either. */
static void what_is_not_recorded_has_no_bid(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    test_db_exec(&pool->test, "CREATE FUNCTION public.open() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                              " NEW.open_leases := 1; RETURN NEW; END $$;"
                              "CREATE TRIGGER open BEFORE INSERT ON fairway.client_usage FOR EACH ROW "
                              "EXECUTE FUNCTION public.open()");
    for (size_t i = 0; i < 2; i++) {
        ask_to_send(pool, &asked[i], 0);
        asked[i].request.limits.most[LIMIT_OPEN_LEASES] = 2;
    }
    grant_on(pool, asked, 2);
    assert_submitted(pool, &asked[0].grant.lease, LEAST);
    assert_int_equal(asked[1].grant.limit, LIMIT_OPEN_LEASES);
    assert_int_equal(asked[1].grant.lease.bid_stroops, 0);
    assert_int_equal(rows(pool, "submissions"), 1);
    assert_int_equal(rows(pool, "fee_bumps"), 1);
    asked_wipe_all(asked, 2);
}

static void after_a_COMMIT_without_a_reply_the_bid_is_handed_out_as_committed(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    const char *port = strrchr(pool->test.url, ':'), *path = strrchr(pool->test.url, '/');
    AUTO_FREE char *through =
        mem_format("%.*s:%u%s", (int)(port - pool->test.url), pool->test.url, proxy_port(proxy), path);
    struct test_pool replica = *pool;
    replica.db = db_new(&(struct db_settings){.url = through, .name = "through a proxy"});
    proxy_arm(proxy, PROXY_CUT_AFTER, "fairway.record_bids"); /* in one packet with COMMIT */
    ask_to_send(pool, &asked, 5000);
    assert_int_equal(test_pool_grant(&replica, &asked, 1, &detail), ERR_OK);
    assert_submitted(pool, &asked.grant.lease, 5000 - SUBMIT_RAISES);
    db_free(replica.db);
    proxy_free(proxy);
    asked_wipe(&asked);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_pool_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lease_that_is_sent_is_committed_with_its_bid_and_its_submission),
        TEST(a_bid_that_is_refused_takes_no_account),
        TEST(a_bid_is_the_least_when_the_account_cannot_pay_more_beside_the_open_ones),
        TEST(a_client_that_has_spent_since_the_batch_began_gets_no_lease_without_a_bid),
        TEST(what_is_not_recorded_has_no_bid),
        TEST(after_a_COMMIT_without_a_reply_the_bid_is_handed_out_as_committed),
    };
    return cmocka_run_group_tests_name("bids of leases", tests, test_pg_start, test_pg_stop);
}
