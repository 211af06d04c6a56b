/*
 * What a grant leases and what it refuses, with a real PostgreSQL and a real key process. Failures are in
 * test_lease_faults, concurrent replicas in test_lease_race, which accounts are claimed in
 * tests/sql/lease.sql.
 */
#include "support/keyd.h"
#include "support/pool.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "support/pool_rows.h"
#include "support/proxy.h"

#define ACCOUNTS 12
#define LEAST 200 /* the least fee of a fee bump of a payment */

static int set_up(void **state)
{
    const int failed = test_pool_set_up(state, ACCOUNTS);
    struct test_pool *pool = *state;
    pool->settings.limits.bump_base_fee_stroops = 100;
    pool->settings.limits.max_bump_fee_stroops = keyd_test_settings().max_bump_fee_stroops;
    return failed;
}

static uint64_t now_s(const struct test_pool *pool)
{
    return (uint64_t)test_db_number(&pool->test, "SELECT floor(extract(epoch FROM clock_timestamp()))::int8");
}

/* ---- the lease */

TEST(bounds_of_the_client_are_kept_and_recorded)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe) = {.sample = SAMPLE};
    struct envelope envelope;
    struct detail detail = {0};
    const uint64_t min_time_s = now_s(pool) - 5;
    add_payment(&asked.sample, PLAIN, CLIENT);
    add_payment(&asked.sample, MUXED, CLIENT);
    set_v2(&asked.sample, (struct sample_v2){.times = true,
                              .min_time_s = min_time_s,
                              .max_time_s = min_time_s + 105,
                              .ledgers = true,
                              .min_ledger = 900,
                              .max_ledger = 1050});
    ask_sample(pool, &asked);
    test_pool_decide(pool, &asked, 1);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    assert_lease_signed(pool, &asked.grant.lease);
    assert_int_equal(envelope_decode(buf_bytes(&asked.grant.lease.envelope), &envelope, &detail), ERR_OK);
    assert_true(envelope.preconditions.min_time_s == min_time_s);
    assert_true(envelope.preconditions.max_time_s == min_time_s + 105);
    assert_int_equal(envelope.preconditions.min_ledger, 900);
    assert_int_equal(envelope.preconditions.max_ledger, 1050);
    assert_true(bytes_equal(envelope.operations, asked.sample.view.operations));
    assert_int_equal(test_db_number(&pool->test, "SELECT max_ledger FROM fairway.lease_history"), 1050);
}

/* ---- items that fail alone */

static void ask_operation_of(
    struct test_pool *pool, struct asked *asked, enum sample_source form, size_t slot)
{
    const size_t source_at = form == MUXED ? 16 : 8; /* after presence, kind and, if muxed, the id */
    *asked = (struct asked){.sample = SAMPLE};
    add_payment(&asked->sample, form, 0);
    memcpy(asked->sample.operations.data + source_at, pool->accounts[slot].bytes, 32);
    ask_sample(pool, asked);
}

TEST(an_operation_of_a_pool_account_is_refused_alone)
{
    struct test_pool *pool = *state;
    struct asked asked[4];
    test_db_exec(
        &pool->test, "UPDATE fairway.channel_accounts SET state = 'retired', slot = NULL WHERE slot = 4");
    ask_operation_of(pool, &asked[0], PLAIN, 3);
    ask(pool, &asked[1]);
    ask_operation_of(pool, &asked[2], MUXED, 3);
    ask_operation_of(pool, &asked[3], PLAIN, 4); /* whatever its state */
    test_pool_decide(pool, asked, ARRAY_LEN(asked));
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        assert_int_equal(asked[i].grant.state, i == 1 ? GRANT_DONE : GRANT_REFUSED);
        if (i != 1)
            assert_int_equal(asked[i].grant.error, ERR_FORBIDDEN_SIGNER);
    }
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

TEST(an_item_that_the_key_process_refuses_fails_alone)
{
    struct test_pool *pool = *state;
    struct asked asked[3];
    pool->settings.limits.base_fee_stroops = 101; /* with 100 operations: above the key process's own cap */
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        asked[i] = (struct asked){.sample = SAMPLE};
        for (size_t k = 0; k < (i == 1 ? OPERATIONS_MAX : 1); k++)
            add_payment(&asked[i].sample, PLAIN, CLIENT);
        ask_sample(pool, &asked[i]);
    }
    assert_int_equal(log_set_level("error"), ERR_OK);
    test_pool_decide(pool, asked, ARRAY_LEN(asked));
    assert_int_equal(asked[0].grant.state, GRANT_DONE);
    assert_int_equal(asked[1].grant.state, GRANT_REFUSED);
    assert_int_equal(asked[2].grant.state, GRANT_DONE);
    assert_int_equal(leased_accounts(pool), 2);
    assert_int_equal(lease_rows(pool), 2);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

TEST(DS2_a_seed_that_does_not_open_quarantines_its_account_and_fails_no_request)
{
    struct test_pool *pool = *state;
    struct asked asked[ACCOUNTS];
    test_db_exec(&pool->test,
        "UPDATE fairway.channel_accounts SET sealed_seed = (SELECT sealed_seed FROM fairway.channel_accounts"
        " WHERE slot = 5) WHERE slot = 4"); /* another account's */
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask(pool, &asked[i]);
    test_pool_decide(pool, asked, ARRAY_LEN(asked));
    size_t done = 0;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        assert_int_not_equal(asked[i].grant.state, GRANT_REFUSED);
        done += asked[i].grant.state == GRANT_DONE;
    }
    assert_int_equal(done, ACCOUNTS - 1);
    assert_int_equal(
        test_db_number(&pool->test, "SELECT count(*) FROM fairway.channel_accounts WHERE slot = 4"
                                    " AND state = 'quarantined' AND quarantine_reason LIKE '%does not open%'"
                                    " AND lease_hash IS NULL"),
        1);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

/* ---- when grants are not allowed */

static void assert_suspended(struct test_pool *pool, const char *why)
{
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    ask(pool, &asked);
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_GRANTS_SUSPENDED);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    if (strstr(detail.text, why) == NULL)
        fail_msg("%s", detail.text);
    assert_nothing_leased(pool);
}

static void assert_granted(struct test_pool *pool)
{
    struct asked asked CLEANUP(asked_wipe);
    ask(pool, &asked);
    test_pool_decide(pool, &asked, 1);
    assert_int_equal(asked.grant.state, GRANT_DONE);
}

TEST(H18_grants_stop_as_the_cursor_row_says)
{
    static const struct {
        const char *set, *why;
    } cases[] = {
        {"close_time = extract(epoch FROM now())::int8 - 37", "apart"}, /* a ledger of 5 s, and 2 s more */
        {"close_time = extract(epoch FROM now())::int8 + 37", "apart"},
        {"close_time = extract(epoch FROM now())::int8, grants_allowed = false, grants_reason = 'a test'",
            "a test"},
    };
    struct test_pool *pool = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *sql = mem_format("UPDATE fairway.cursor SET %s", cases[i].set);
        test_db_exec(&pool->test, sql);
        assert_suspended(pool, cases[i].why);
    }
    test_db_exec(&pool->test, "UPDATE fairway.cursor SET grants_allowed = true, grants_reason = NULL,"
                              " close_time = extract(epoch FROM now())::int8 - 30");
    assert_granted(pool);
}

TEST(grants_wait_for_the_first_ledger)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test, "DELETE FROM fairway.cursor");
    assert_suspended(pool, "no ledger");
}

TEST(grants_stop_while_gap_recovery_holds_its_lock)
{
    struct test_pool *pool = *state;
    struct detail detail = {0};
    AUTO_DB recovery = test_db_open(&pool->test);
    assert_int_equal(
        db_query(recovery, DB_SQL0("SELECT pg_advisory_lock(hashtext('fairway grants'))"), NULL, &detail),
        ERR_OK);
    assert_suspended(pool, "being stopped");
}

TEST(H18_now_is_the_later_of_clock_and_last_close_time)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test, "UPDATE fairway.cursor SET close_time = extract(epoch FROM now())::int8 + 20");
    assert_granted(pool);
    assert_int_equal(test_db_number(&pool->test,
                         "SELECT l.max_time - c.close_time FROM fairway.lease_history l, fairway.cursor c"),
        60);
}

/* ---- leases that fairway itself sends: lease, fee bump and submission are committed together or not at all,
 * and a bid that a limit forbids takes no account */

static void ask_to_send(const struct test_pool *pool, struct asked *asked, int64_t max_fee_stroops)
{
    ask(pool, asked);
    asked->request.submits = true;
    asked->request.max_fee_stroops = max_fee_stroops;
    snprintf(asked->request.client, sizeof asked->request.client, "wallet");
}

/* Of the last ledger, for each operation of a payment. */
#define PRICE 1500
#define BID (2 * (PRICE + 1))

static void surge(const struct test_pool *pool)
{
    test_db_execf(&pool->test, "UPDATE fairway.ledgers SET prices = '{%d,0,0}'", PRICE);
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
            DB_SQL("SELECT s.inner_digest, e.envelope, s.bid_hash, s.bid, s.round_ledger, s.due_ledger"
                   " FROM fairway.submissions s JOIN fairway.bids e USING (lease_hash)"
                   " JOIN fairway.fee_bumps b ON b.hash = s.bid_hash"
                   " AND b.lease_hash = s.lease_hash AND b.fee = s.bid WHERE s.lease_hash = $1",
                DB_BYTEA(BYTES_OF(lease->hash.bytes))),
            &row, NULL),
        ERR_OK);
    assert_int_equal(db_count(row), 1);
    const struct hash digest = sha256(buf_bytes(&lease->envelope));
    assert_true(bytes_equal(db_bytea(row, 0, 0), BYTES_OF(digest.bytes)));
    assert_true(bytes_equal(db_bytea(row, 0, 1), buf_bytes(&lease->bid)));
    assert_true(bytes_equal(fee_bump_inner(db_bytea(row, 0, 1)), buf_bytes(&lease->envelope)));
    assert_true(bytes_equal(db_bytea(row, 0, 2), BYTES_OF(lease->bid_hash.bytes)));
    assert_int_equal(db_i64(row, 0, 3), bid);
    assert_int_equal(db_i64(row, 0, 4), lease->sent_ledger);
    assert_int_equal(db_i64(row, 0, 5), lease->sent_ledger + 1);
    assert_int_equal(envelope_decode(buf_bytes(&lease->bid), &view, NULL), ERR_OK);
    const struct hash inner = envelope_hash(&pool->settings.network, &view);
    assert_int_equal(view.form, ENVELOPE_FEE_BUMP);
    assert_true(hash_equal(&inner, &lease->hash));
}

TEST(a_lease_that_is_sent_is_committed_with_its_bid_and_its_submission)
{
    struct test_pool *pool = *state;
    struct asked asked[4];
    const int64_t caps[] = {0, LEAST + 5, LEAST, 0};
    surge(pool);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask_to_send(pool, &asked[i], caps[i]);
    asked[3].request.submits = false;
    test_pool_decide(pool, asked, ARRAY_LEN(asked));
    assert_submitted(pool, &asked[0].grant.lease, BID);
    assert_submitted(pool, &asked[1].grant.lease, LEAST + 5);
    assert_submitted(pool, &asked[2].grant.lease, LEAST);
    assert_int_equal(asked[3].grant.lease.bid_stroops, 0);
    assert_int_equal(rows(pool, "submissions"), 3);
    assert_int_equal(rows(pool, "fee_bumps"), 3);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

TEST(a_bid_that_is_refused_takes_no_account_and_the_limit_of_a_day_lowers_one_before_it_refuses)
{
    struct test_pool *pool = *state;
    struct asked asked[5];
    const int64_t most = pool->settings.limits.max_bump_fee_stroops;
    const int64_t caps[] = {LEAST - 1, most + 1, 5000, 5000, 5000};
    surge(pool);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        ask_to_send(pool, &asked[i], caps[i]);
        asked[i].request.limits.most[LIMIT_STROOPS_PER_DAY] = BID + LEAST + 5;
    }
    test_pool_decide(pool, asked, ARRAY_LEN(asked));
    assert_int_equal(asked[0].grant.error, ERR_FEE_BELOW_MINIMUM);
    assert_int_equal(asked[1].grant.error, ERR_FEE_EXCEEDS_MAXIMUM);
    assert_submitted(pool, &asked[2].grant.lease, BID);
    assert_submitted(pool, &asked[3].grant.lease, LEAST + 5);
    assert_int_equal(asked[4].grant.state, GRANT_REFUSED);
    assert_int_equal(asked[4].grant.limit, LIMIT_STROOPS_PER_DAY);
    assert_int_equal(leased_accounts(pool), 2);
    asked_wipe_all(asked, ARRAY_LEN(asked));
}

/* As when another replica has recorded a fee bump of the client between both round trips. */
TEST(a_client_that_has_spent_since_the_batch_began_gets_no_lease_without_a_bid)
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
    test_pool_decide(pool, asked, 2); /* as the engine does */
    assert_int_equal(asked[0].grant.limit, LIMIT_STROOPS_PER_DAY);
    assert_int_equal(asked[1].grant.state, GRANT_DONE);
    assert_int_equal(leased_accounts(pool), 1);
    asked_wipe_all(asked, 2);
}

TEST(after_a_COMMIT_without_a_reply_the_bid_is_handed_out_as_committed)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    struct test_pool replica = *pool;
    replica.db = test_db_open_through(&pool->test, proxy_port(proxy));
    proxy_arm(proxy, PROXY_CUT_AFTER, "fairway.record_first_bids"); /* in one packet with COMMIT */
    ask_to_send(pool, &asked, 5000);
    assert_int_equal(test_pool_grant(&replica, &asked, 1, &detail), ERR_OK);
    assert_submitted(pool, &asked.grant.lease, LEAST);
    db_free(replica.db);
    proxy_free(proxy);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
