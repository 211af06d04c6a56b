/*
 * How many pages the statements of C read, with any statistics and under an old snapshot. A plan that scans a
 * table or an index shows in pages long before it shows in time. Those of functions are in tests/sql.
 */
#include "support/pool.h"

#include "../../src/grant/grant_claim.h"
#include "../../src/pool/settle_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "limits/usage.h"
#include "pool/provisioning.h"
#include "pool/fee_bump.h"
#include "pool/pool_counts.h"

/* Returns the pages that one run of the statement reads, planning included, and rolls back. */
static int64_t pages_of(struct db *db, const char *sql)
{
    AUTO_FREE char *explain =
        mem_format("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT TEXT) %s", sql);
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    int64_t hit = 0, read = 0;
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    if (db_query(db, DB_SQL0(explain), &rows, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    for (size_t i = 0; i < db_count(rows); i++) {
        const char *at = strstr(db_text(rows, i, 0), "Buffers: shared");
        const char *more = at == NULL ? NULL : strstr(at, "read=");
        if (at == NULL)
            continue;
        at = strstr(at, "hit=");
        hit = at == NULL ? 0 : strtoll(at + 4, NULL, 10);
        read = more == NULL ? 0 : strtoll(more + 5, NULL, 10);
        break; /* the top node includes the nodes below it */
    }
    db_rollback(db);
    return hit + read;
}

/* The same for the second run in a session: the first one plans the statements of its functions. */
static int64_t planned_pages_of(struct test_pool *pool, const char *sql)
{
    AUTO_DB db = test_db_open(&pool->test);
    pages_of(db, sql);
    const int64_t pages = pages_of(db, sql);
    return pages;
}

/* Runs SQL without triggers, so that inserts are fast. */
static void exec_unchecked(struct test_pool *pool, const char *sql)
{
    AUTO_FREE char *text = mem_format("SET session_replication_role = replica; %s", sql);
    test_db_exec(&pool->test, text);
}

/* Adds 20,000 leases to the partition of today; keyed: each with a key. */
static void add_settled_leases(struct test_pool *pool, const char *name, bool keyed)
{
    AUTO_FREE char *sql = mem_format(
        "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time,"
        " request_id, granted_at)"
        " SELECT sha256(('%s' || i)::bytea), (SELECT min(public_key::text) FROM fairway.channel_accounts), i,"
        " '', '\\x00', 1, '', now() FROM generate_series(1, 20000) i RETURNING *)"
        " INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)"
        " SELECT '', 'key ' || l.sequence, sha256('body'), l.hash, l.granted_at FROM l WHERE %s;",
        name, keyed ? "true" : "false");
    exec_unchecked(pool, sql);
}

static int set_up(void **state)
{
    int e = test_pool_set_up(state, 2);
    struct test_pool *pool = *state;
    exec_unchecked(pool,
        "DO $$ DECLARE each oid; BEGIN FOR each IN SELECT format('fairway.%I', name)::regclass"
        " FROM fairway.partitions LOOP"
        " EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', each::regclass); END LOOP; END $$;"
        "ALTER TABLE fairway.channel_accounts SET (autovacuum_enabled = off);");
    return e;
}

/* The pages of fairway's tables and indexes that this transaction has touched. */
static int64_t touched(struct db *db)
{
    AUTO_ROWS rows = NULL;
    assert_int_equal(
        db_query(db,
            DB_SQL0("SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int8 FROM pg_class c"
                    " WHERE c.relnamespace = 'fairway'::regnamespace"),
            &rows, NULL),
        ERR_OK);
    return db_i64(rows, 0, 0);
}

static int64_t pages_of_keys(struct db *db)
{
    static const char *const keys[] = {"key 77", "key 19999", "none"};
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    test_find_keys(db, keys, ARRAY_LEN(keys));
    const int64_t pages = touched(db) - before;
    db_rollback(db);
    return pages;
}

/* As on the first day on which clients send keys: according to the statistics, no lease has one. */
TEST(DX10_a_key_is_found_in_a_few_pages_though_statistics_know_of_none)
{
    struct test_pool *pool = *state;
    add_settled_leases(pool, "plain", false);
    test_db_exec(&pool->test, "ANALYZE fairway.leases, fairway.idempotency_keys");
    add_settled_leases(pool, "keyed", true);
    struct db *db = test_db_open(&pool->test);
    const int64_t pages = pages_of_keys(db);
    db_free(db);
    print_message("three keys among 20,000: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 80); /* with those of planning */
}

/* A session that planned while the table was empty keeps that plan. */
TEST(DX10_a_key_is_found_in_a_few_pages_by_a_session_that_planned_for_an_empty_table)
{
    struct test_pool *pool = *state;
    struct db *db = test_db_open(&pool->test);
    test_db_exec(&pool->test, "ANALYZE fairway.leases, fairway.idempotency_keys");
    pages_of_keys(db);
    add_settled_leases(pool, "keyed", true);
    const int64_t pages = pages_of_keys(db);
    db_free(db);
    print_message("three keys among 20,000: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 40);
}

/* According to the statistics there is no claim. */
static struct db *open_with_claims(struct test_pool *pool)
{
    test_db_exec(&pool->test,
        "ANALYZE fairway.lease_claims; ALTER TABLE fairway.lease_claims SET (autovacuum_enabled = off);"
        "INSERT INTO fairway.lease_claims SELECT 2000, now() - interval '1 hour', '', ('claim ' || i)::bytea,"
        " sha256(i::text::bytea), sha256(''), (SELECT min(public_key::text) FROM fairway.channel_accounts)"
        " FROM generate_series(1, 20000) i");
    return test_db_open(&pool->test);
}

TEST(DX10_the_lease_of_a_claim_is_found_in_a_few_pages)
{
    struct test_pool *pool = *state;
    struct db *db = open_with_claims(pool);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    test_find_claim(db, (struct bytes){(const uint8_t *)"claim 78", 8});
    const int64_t pages = touched(db) - before;
    db_free(db);
    print_message("a claim among 20,000: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 20); /* with those of planning */
}

/* A client may let all authorizations of a month expire with one ledger. */
TEST(DX10_a_ledger_reads_no_claims_of_leases_that_have_ended)
{
    struct test_pool *pool = *state;
    struct settle_accounts accounts = {0};
    struct db *db = open_with_claims(pool);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    const struct settle_evidence evidence = {.sequence = 2000, .close_time_s = (uint64_t)time(NULL)};
    assert_int_equal(settle_read(db, &evidence, NULL, &accounts, NULL), ERR_OK);
    const int64_t pages = touched(db) - before;
    settle_accounts_free(&accounts);
    db_free(db);
    print_message("20,000 claims expire: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 40); /* with those of planning */
}

TEST(DX10_pending_provisioning_transactions_are_found_among_all_in_a_few_pages)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test,
        "ALTER TABLE fairway.provisioning SET (autovacuum_enabled = off);"
        "INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, source, sequence, max_time, state,"
        " result_code, ledger) SELECT 'creation', ARRAY[a.public_key], sha256(i::text::bytea), '', "
        "a.public_key, 1, 1,"
        " 'succeeded', 'txSUCCESS', 5 FROM (SELECT * FROM fairway.channel_accounts LIMIT 1) a,"
        " generate_series(1, 20000) i");
    struct db *db = test_db_open(&pool->test);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    assert_int_equal(db_query(db, DB_SQL0(provisioning_sql), NULL, NULL), ERR_OK);
    const int64_t pages = touched(db) - before;
    db_free(db);
    print_message("none pending of 20,000: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 40); /* with those of planning */
}

/* 20,000 fee bumps, all of leases that were granted at once; one of them is the first account's, with three
 * fee bumps. */
static void add_fee_bumps(struct test_pool *pool)
{
    exec_unchecked(pool,
        "INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)"
        " SELECT sha256(('bump ' || i)::bytea), CASE WHEN i <= 3 THEN sha256('lease')"
        "   ELSE sha256(('lease ' || i)::bytea) END, now(), i FROM generate_series(1, 20000) i;"
        "UPDATE fairway.channel_accounts SET lease_hash = sha256('lease'), lease_client = '',"
        " lease_sequence = 1, lease_max_time = 1,"
        " locked_at = (SELECT max(granted_at) FROM fairway.fee_bumps)"
        " WHERE public_key = (SELECT min(public_key::text) FROM fairway.channel_accounts);");
}

/* Finds what a fee bump of the lease of the first account needs. */
static int64_t pages_of_find(struct test_pool *pool, struct db *db, struct fee_bump_item *item)
{
    AUTO_ROWS rows = NULL;
    *item = (struct fee_bump_item){
        .lease = sha256((struct bytes){(const uint8_t *)"lease", 5}), .sequence = 1, .client = ""};
    assert_int_equal(db_query(pool->db, DB_SQL0("SELECT min(public_key::text) FROM fairway.channel_accounts"),
                         &rows, NULL),
        ERR_OK);
    assert_int_equal(address_decode(db_text(rows, 0, 0), &item->source), ERR_OK);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    assert_int_equal(fee_bumps_find(db, &item, 1, NULL), ERR_OK);
    const int64_t pages = touched(db) - before;
    db_rollback(db);
    return pages;
}

/* As in a session that has planned while there was no fee bump, and with statistics from that time. */
TEST(DX10_a_fee_bump_finds_those_of_its_lease_in_a_few_pages)
{
    struct test_pool *pool = *state;
    struct db *db = test_db_open(&pool->test);
    struct fee_bump_item item;
    test_db_exec(&pool->test, "ANALYZE fairway.fee_bumps");
    pages_of_find(pool, db, &item);
    add_fee_bumps(pool);
    exec_unchecked(pool,
        "INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id,"
        " granted_at)"
        " SELECT a.lease_hash, a.public_key, 1, '', '\\x00', 1, '', a.locked_at"
        " FROM fairway.channel_accounts a WHERE a.lease_hash IS NOT NULL;");
    const int64_t find = pages_of_find(pool, db, &item);
    db_free(db);
    print_message("among 20,000 fee bumps: found in %" PRId64 " pages\n", find);
    assert_in_range(find, 1, 30);
    assert_int_equal(item.error, ERR_OK);
    assert_int_equal(item.bumps, 3);
    assert_int_equal(item.highest_stroops, 3);
}

/* Keeps a snapshot until it is freed. */
static struct db *hold_snapshot(struct test_pool *pool)
{
    struct db *foreign = test_db_open(&pool->test);
    assert_int_equal(db_begin(foreign, NULL), ERR_OK);
    assert_int_equal(
        db_query(foreign, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), NULL, NULL), ERR_OK);
    assert_int_equal(
        db_query(foreign, DB_SQL0("SET LOCAL idle_in_transaction_session_timeout = 0"), NULL, NULL), ERR_OK);
    assert_int_equal(db_query(foreign, DB_SQL0("SELECT count(*) FROM pg_class"), NULL, NULL), ERR_OK);
    return foreign;
}

/* As many versions as 20 seconds of leases of this client leave. */
TEST(DX9_the_use_of_a_client_is_read_in_a_few_pages_under_an_old_snapshot)
{
    struct test_pool *pool = *state;
    const struct limits limits = {.most = {[LIMIT_OPEN_LEASES] = 9000}};
    struct usage *usage AUTO_FREE = NEW(struct usage);
    test_db_exec(&pool->test, "SELECT fairway.lock_clients('{a}')");
    struct db *foreign = hold_snapshot(pool);
    test_db_exec(&pool->test, "DO $$ BEGIN FOR i IN 1..6000 LOOP"
                              " UPDATE fairway.client_usage SET open_leases = i; COMMIT; END LOOP; END $$");
    assert_true(test_db_number(&pool->test, "SELECT pg_relation_size('fairway.client_usage')") > 200000);
    usage_add(usage, 0, "a", "", &limits);
    assert_int_equal(db_begin(pool->db, NULL), ERR_OK);
    const int64_t before = touched(pool->db);
    assert_int_equal(db_query(pool->db, usage_statement(usage), NULL, NULL), ERR_OK);
    const int64_t read = touched(pool->db) - before;
    db_rollback(pool->db);
    print_message("read in %" PRId64 " pages\n", read);
    db_free(foreign);
    assert_in_range(read, 1, 15);
}

/* As many versions as seven hours of ledgers leave. */
TEST(DX9_the_terms_of_a_grant_are_read_in_a_few_pages_under_an_old_snapshot)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test, "INSERT INTO fairway.funds VALUES (true, 1, 1, 1, 1, 1, 1)");
    struct db *foreign = hold_snapshot(pool);
    test_db_exec(&pool->test, "DO $$ BEGIN FOR i IN 1..5000 LOOP UPDATE fairway.cursor SET term = term + 1;"
                              " UPDATE fairway.funds SET balance = i; COMMIT; END LOOP; END $$");
    const int64_t terms = planned_pages_of(pool, grant_terms_sql);
    print_message("read in %" PRId64 " pages\n", terms);
    db_free(foreign);
    assert_in_range(terms, 1, 15);
}

/* Pages of the pool's table and its indexes that this session has read so far. */
static int64_t pages_read(struct test_pool *pool)
{
    AUTO_ROWS flushed = NULL;
    assert_int_equal(
        db_query(pool->db, DB_SQL0("SELECT pg_stat_force_next_flush()"), &flushed, NULL), ERR_OK);
    return test_db_number(&pool->test,
        "SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::int8"
        " FROM pg_statio_user_tables WHERE relname IN ('channel_accounts', 'submissions')");
}

static void search(struct test_pool *pool)
{
    test_pool_close_ledger(pool->db, NULL); /* without an earlier search, so one is due */
}

static void count_accounts(struct test_pool *pool)
{
    struct pool_counts counts;
    assert_int_equal(pool_counts_read(pool->db, true, &counts, NULL), ERR_OK);
    assert_int_equal(counts.idle, 2);
}

/* They read fairway.pool_accounts, which looks each slot up when versions are many. */
TEST(DX9_reads_of_the_whole_pool_cost_the_same_under_an_old_snapshot)
{
    void (*const reads[])(struct test_pool *) = {search, count_accounts};
    struct test_pool *pool = *state;
    struct db *foreign = hold_snapshot(pool);
    test_db_exec(&pool->test,
        "INSERT INTO fairway.submissions (granted_at, max_fee, stroops_max, bid, round_ledger, due_ledger,"
        " lease_hash, bid_hash, inner_digest, client)"
        " SELECT now(), 1, 0, 1, 1, 1, h, h, h, '' FROM sha256('') h");
    test_db_exec(&pool->test,
        "DO $$ BEGIN FOR i IN 1 .. 1000 LOOP UPDATE fairway.channel_accounts SET lease_max_time ="
        " lease_max_time; UPDATE fairway.submissions SET due_ledger = i; COMMIT; END LOOP; END $$");
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        reads[i](pool); /* plans its statements */
        const int64_t before = pages_read(pool);
        reads[i](pool);
        const int64_t read = pages_read(pool) - before;
        print_message("read %zu: %" PRId64 " pages\n", i, read);
        assert_in_range(read, 1, 12);
    }
    db_free(foreign);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
