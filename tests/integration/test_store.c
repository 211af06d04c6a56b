/*
 * Reading accounts and keys, and a claim that was lost. What the tables themselves refuse is in
 * tests/sql/tables.sql; test_store_hazards.c tests time zones, plans and concurrency.
 */
#include "support/pool.h"

#include <string.h>

#include "../../src/grant/grant_claim.h"
#include "../../src/grant/grant_record.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pool/master_keys.h"
#include "pool/account_read.h"
#include "slowness.h"

#define ACCOUNTS 6

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

/* Returns whether the lease is open. Fails the test unless lease and account agree about that. */
static bool is_open(const struct test_pool *pool, const struct lease *lease)
{
    char hex[HASH_HEX_SIZE];
    hash_encode(&lease->hash, hex);
    AUTO_FREE char *open = mem_format(
        "SELECT count(*) FROM fairway.lease_history WHERE hash = '\\x%s' AND settled_at IS NULL", hex);
    AUTO_FREE char *named =
        mem_format("SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash = '\\x%s'"
                   " AND locked_at IS NOT NULL",
            hex);
    int64_t is = test_db_number(&pool->test, open);
    assert_int_equal(test_db_number(&pool->test, named), is);
    return is == 1;
}

/* ---- reading */

TEST(a_page_of_a_large_pool_reads_only_its_rows)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test,
        "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence,"
        " sequence_ledger, state) SELECT 'G' || translate(upper(lpad(md5(n::text), 55, md5((n + 1)::text))),"
        " '0189', 'WXYZ'), 100 + n, repeat('x', 72)::bytea, k.key_id, 1, 1, 'active'"
        " FROM generate_series(1, 20000) n, fairway.master_keys k;"
        "ANALYZE fairway.channel_accounts");
    struct account_shown *page AUTO_FREE = NEW_ARRAY(ACCOUNT_PAGE_MAX, struct account_shown);
    char after[ADDRESS_SIZE] = "";
    size_t count, seen = 0;
    do {
        assert_int_equal(
            account_read_page(pool->db, NULL, NULL, after, ACCOUNT_PAGE_MAX, page, &count, NULL), ERR_OK);
        for (size_t i = 0; i < count; i++)
            assert_true(strcmp(i == 0 ? after : page[i - 1].public_key, page[i].public_key) < 0);
        if (count > 0)
            memcpy(after, page[count - 1].public_key, sizeof after);
        seen += count;
    } while (count > 0);
    assert_int_equal(seen, 20000 + ACCOUNTS);
    /* rows read for all pages together: each once, and one more for each page */
    db_free(pool->db);
    pool->db = test_db_open(&pool->test);
    int64_t deadline_ms = clock_ms() + slower(10000), fetched;
    while ((fetched = test_db_number(&pool->test,
                "SELECT idx_tup_fetch + seq_tup_read FROM"
                " pg_stat_user_tables WHERE relname = 'channel_accounts'")) < 20000 &&
           clock_ms() < deadline_ms)
        clock_sleep_ms(50);
    assert_in_range(fetched, 20000, 20000 * 4);
}

/* ---- granting and settling */

/* H2: a replica whose claim has expired must not overwrite the lease that the account has by now. */
TEST(a_lease_on_an_account_that_was_lost_meanwhile_is_not_recorded)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test, "UPDATE fairway.channel_accounts SET state = 'retiring' WHERE slot > 0");
    struct account_source account;
    struct idempotency_keys keys = {0};
    struct grant_batch batch = {.mode = GRANT_CLAIM};
    struct grant_claim claim = {.settings = &pool->settings,
        .batch = &batch,
        .wanted = 1,
        .keys = &keys,
        .usage = &(struct usage){0},
        .claims = &(struct lease_claims){.count = 0},
        .bids = &(struct lease_bids){.count = 0},
        .members = &(bool){false},
        .accounts = &account};
    AUTO_DB late = db_new(&(struct db_settings){.url = pool->test.url, .name = "late holder"});
    assert_int_equal(grant_claim_begin(late, &claim, NULL), ERR_OK);
    assert_int_equal(claim.claimed, 1);
    test_db_exec(&pool->test, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                              "application_name = 'late holder'");
    struct asked asked CLEANUP(asked_wipe);
    test_pool_grant_all(pool, &asked, 1);
    assert_true(public_key_equal(&asked.grant.lease.account, &account.key));
    /* the late replica continues */
    struct lease_request request = {.request_id = "late"};
    struct grant own = {.request = &request,
        .lease = {.hash = built_hash(9), .account = account.key, .sequence = account.sequence + 1}};
    struct grant_record_item item = {.grant = &own};
    const struct grant_record record = {.batch = &batch,
        .transaction_id = claim.terms.transaction_id,
        .items = &item,
        .count = 1,
        .claims = claim.claims};
    struct detail detail = {0};
    assert_int_not_equal(grant_record_commit(late, &record, &detail), ERR_OK);
    assert_true(is_open(pool, &asked.grant.lease));
    assert_int_equal(lease_rows(pool), 1);
}

/* ---- keys */

TEST(a_stored_master_key_is_found_and_may_be_stored_again)
{
    struct test_db test = test_db_new(TEST_DB_MIGRATED);
    struct db *db = test_db_open(&test), *other = test_db_open(&test);
    struct master_key_row rows[MASTER_KEY_ROWS_MAX],
        derived = {.key_id = "00112233445566aa", .derived = true};
    struct master_key_row file = {.key_id = "ffeeddccbbaa9988"}, bad = {.key_id = "FFEE"},
                          third = {.key_id = "0000000000000003"};
    size_t count;
    memset(derived.salt, 5, sizeof derived.salt);
    const struct master_key_row known[] = {derived, file, third};
    assert_int_equal(master_keys_read(db, rows, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    assert_int_equal(master_key_store(db, &derived, known, 3, NULL), ERR_OK);
    assert_int_equal(master_key_store(other, &file, &file, 1, NULL), ERR_DATABASE_UNAVAILABLE); /* it waits */
    assert_int_equal(db_commit(db, NULL), ERR_OK);
    assert_int_equal(master_key_store(other, &file, &file, 1, NULL), ERR_CONSTRAINT);
    assert_int_equal(master_key_store(db, &bad, known, 3, NULL), ERR_CONSTRAINT);
    assert_int_equal(master_key_store(db, &file, known, 3, NULL), ERR_OK);
    assert_int_equal(master_key_store(db, &derived, known, 3, NULL), ERR_OK);
    assert_int_equal(master_key_store(db, &third, known, 3, NULL), ERR_CONSTRAINT); /* beside a rotation */
    assert_int_equal(master_keys_read(db, rows, &count, NULL), ERR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].key_id, derived.key_id);
    assert_true(rows[0].derived);
    assert_memory_equal(rows[0].salt, derived.salt, sizeof derived.salt);
    assert_string_equal(rows[1].key_id, file.key_id);
    assert_false(rows[1].derived);
    assert_int_equal(master_keys_lock(db, 0, NULL), ERR_OK);
    assert_int_equal(master_keys_lock(other, 0, NULL), ERR_NOT_YET);
    db_disconnect(db);
    assert_int_equal(master_keys_lock(other, 2, NULL), ERR_OK);
    test_db_exec(&test, "INSERT INTO fairway.master_keys (key_id) SELECT lpad(n::text, 16, '0')"
                        " FROM generate_series(1, 5) n");
    assert_int_equal(master_keys_read(db, rows, &count, NULL), ERR_CONFIG);
    db_free(db);
    db_free(other);
    test_db_drop(&test);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
