/*
 * How many pages the statements of a grant read, with any statistics and however full the pool is. A plan
 * that scans a table or an index shows in pages long before it shows in time.
 */
#include "support/pool.h"

#include "../../src/grant/grant_claim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "limits/usage.h"
#include "pool/fee_bump.h"

#define ACCOUNTS 5000 /* leases: 20,000 and more */

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
    struct db *db = test_db_open(&pool->test);
    pages_of(db, sql);
    const int64_t pages = pages_of(db, sql);
    db_free(db);
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
static void DX10_a_key_is_found_in_a_few_pages_though_statistics_know_of_none(void **state)
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
static void DX10_a_key_is_found_in_a_few_pages_by_a_session_that_planned_for_an_empty_table(void **state)
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

/* Most leases are of no call. */
static void DX10_the_lease_of_a_call_is_found_in_a_few_pages(void **state)
{
    struct test_pool *pool = *state;
    add_settled_leases(pool, "plain", false);
    test_db_exec(&pool->test, "ANALYZE fairway.leases");
    add_settled_leases(pool, "call", false);
    test_db_exec(&pool->test,
        TEST_UNCHECKED("UPDATE fairway.leases SET natural_key = sha256(hash) WHERE sequence % 2 = 0"));
    struct db *db = test_db_open(&pool->test);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    const int64_t before = touched(db);
    const struct hash lease = sha256((struct bytes){(const uint8_t *)"call78", 6});
    test_find_call(db, sha256(BYTES_OF(lease.bytes)));
    const int64_t pages = touched(db) - before;
    db_free(db);
    print_message("a call among 20,000: %" PRId64 " pages\n", pages);
    assert_in_range(pages, 1, 60); /* with those of planning */
}

static const char sql_recent[] =
    "SELECT * FROM fairway.find_leases(ARRAY[sha256('hashed 77'), sha256(sha256('hashed 78'))])";
static const char sql_unknown[] = "SELECT * FROM fairway.find_leases(ARRAY[sha256('none')])";
static const char sql_many[] = "SELECT * FROM fairway.find_leases((SELECT array_agg(sha256(i::text::bytea))"
                               " FROM generate_series(1, 100) i))";

#define SAY(rows, visible)                                                                                   \
    "UPDATE pg_class SET reltuples = " rows ", relpages = 1, relallvisible = " visible                       \
    " WHERE relnamespace = 'fairway'::regnamespace AND relkind IN ('r', 'i')"

/* Changes the statistics, as faults/statistics.mjs. */
static const char *const statistics[] = {
    "ANALYZE", "SELECT", SAY("0", "0"), SAY("1", "0"), SAY("100000000", "1")};

/* A look-up tries hours one by one. In the hour of these leases it reads no more than in any other. */
static void DX10_a_lease_is_found_by_its_hash_in_a_few_pages(void **state)
{
    struct test_pool *pool = *state;
    struct db *planned[ARRAY_LEN(statistics)]; /* with these statistics, while the tables are empty */
    for (size_t i = 0; i < ARRAY_LEN(statistics); i++) {
        test_db_exec(&pool->test, statistics[i]);
        planned[i] = test_db_open(&pool->test);
        pages_of(planned[i], sql_recent);
    }
    pages_of(planned[0], sql_unknown);
    const int64_t none = pages_of(planned[0], sql_unknown), many_none = pages_of(planned[0], sql_many);
    add_settled_leases(pool, "hashed ", false);
    exec_unchecked(pool, "INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)"
                         " SELECT sha256(hash), hash, granted_at, 200 FROM fairway.leases;");
    for (size_t i = 0; i < 2 * ARRAY_LEN(statistics); i++) {
        struct db *db = i < ARRAY_LEN(statistics) ? planned[i] : test_db_open(&pool->test);
        if (i >= ARRAY_LEN(statistics))
            test_db_exec(&pool->test, statistics[i - ARRAY_LEN(statistics)]);
        pages_of(db, sql_recent);
        pages_of(db, sql_unknown);
        const int64_t recent = pages_of(db, sql_recent), unknown = pages_of(db, sql_unknown),
                      many = pages_of(db, sql_many);
        print_message("two hashes: %" PRId64 " pages; an unknown one: %" PRId64 ", %" PRId64
                      " without leases; 100: %" PRId64 ", %" PRId64 "\n",
            recent, unknown, none, many, many_none);
        assert_in_range(recent, 1, 100);
        assert_in_range(unknown, 1, none + 30);
        assert_in_range(many, 1, 2 * many_none);
        db_free(db);
    }
}

/* Leases all accounts except every `of`-th one. */
static void fill_pool(struct test_pool *pool, int of)
{
    AUTO_FREE char *sql = mem_format(
        "UPDATE fairway.channel_accounts a SET"
        " (lease_hash, lease_client, lease_sequence, lease_max_time, locked_at, locked_until) ="
        " (SELECT sha256(convert_to(a.public_key, 'UTF8')), '', 1, 1, now(), now() WHERE a.slot %% %d <> 0);",
        of);
    exec_unchecked(pool, sql);
    test_db_exec(&pool->test, "VACUUM fairway.channel_accounts");
}

static void add_accounts(struct test_pool *pool)
{
    AUTO_FREE char *sql = mem_format("INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, "
                                     "key_id, sequence, sequence_ledger, state)"
                                     " SELECT 'G' || rpad(translate(upper(md5(i::text)) || "
                                     "upper(md5((-i)::text)), '0189', 'WXYZ'), 55, 'A'), i,"
                                     " a.sealed_seed, a.key_id, 1, 1, 'active' FROM generate_series(2, %d) i,"
                                     " (SELECT * FROM fairway.channel_accounts LIMIT 1) a;",
        ACCOUNTS - 1);
    exec_unchecked(pool, sql);
}

/* The claim reads the leased accounts that it passes and not the rest of the pool. The statistics are those
 * of two accounts. */
static void DX10_a_claim_reads_only_the_accounts_that_it_passes(void **state)
{
    struct test_pool *pool = *state;
    static const struct {
        int idle_of;
        int64_t most;
    } cases[] = {{1, 150}, {5, 200}, {20, 400}, {100, 1500}};
    test_db_exec(&pool->test, "ANALYZE fairway.channel_accounts");
    add_accounts(pool);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fill_pool(pool, cases[i].idle_of);
        const int64_t pages = planned_pages_of(pool, "SELECT * FROM fairway.claim_accounts(32, '{}')");
        print_message(
            "32 accounts of %d, one of %d idle: %" PRId64 " pages\n", ACCOUNTS, cases[i].idle_of, pages);
        assert_in_range(pages, 1, cases[i].most);
    }
}

static void H16_a_claim_takes_exactly_what_it_wants_or_all_idle_accounts(void **state)
{
    struct test_pool *pool = *state;
    add_accounts(pool);
    fill_pool(pool, 100); /* 50 are idle */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(test_db_number(&pool->test,
                             "SELECT count(DISTINCT public_key)::int8 FROM fairway.claim_accounts(32, '{}')"),
            32);
        assert_int_equal(test_db_number(&pool->test,
                             "SELECT count(DISTINCT public_key)::int8 FROM fairway.claim_accounts(64, '{}')"),
            50);
    }
}

static const char sql_due_submissions[] =
    "INSERT INTO fairway.submissions (lease_hash, client, granted_at, inner_digest, bid, bid_hash,"
    " round_ledger, due_ledger)"
    " SELECT sha256(i::text::bytea), '', now(), sha256(''), 1, sha256(i::text::bytea), c.sequence, c.sequence"
    " FROM fairway.cursor c, generate_series(1, 200) i";

/* In a session that has planned while the table was empty, as it mostly is. */
static void H16_a_claim_of_submissions_takes_no_more_than_it_wants(void **state)
{
    static const char claim[] = "SELECT count(*)::int8 FROM fairway.claim_submissions(64, 14, 0, 1000000)";
    static const int64_t claimed[] = {64, 64, 64, 8, 0};
    struct test_pool *pool = *state;
    for (size_t k = 0; k < ARRAY_LEN(statistics); k++) {
        test_db_exec(&pool->test, "DELETE FROM fairway.submissions");
        test_db_exec(&pool->test, "VACUUM (ANALYZE) fairway.submissions");
        test_db_exec(&pool->test, statistics[k]);
        assert_int_equal(test_db_number(&pool->test, claim), 0);
        assert_int_equal(db_query(pool->db, DB_SQL0(sql_due_submissions), NULL, NULL), ERR_OK);
        for (size_t i = 0; i < ARRAY_LEN(claimed); i++)
            assert_int_equal(test_db_number(&pool->test, claim), claimed[i]);
    }
}

static void a_claim_starts_at_a_random_slot(void **state)
{
    struct test_pool *pool = *state;
    add_accounts(pool);
    fill_pool(pool, 1);
    const int64_t parts = test_db_number(&pool->test,
        "SELECT count(DISTINCT width_bucket(a.slot, 0, 5000, 10))::int8 FROM generate_series(1, 200) i,"
        " LATERAL fairway.claim_accounts(1 + 0 * i, '{}') c"
        " JOIN fairway.channel_accounts a USING (public_key)");
    assert_int_equal(parts, 10);
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
        " lease_sequence = 1, lease_max_time = 1, locked_until = now(),"
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
    assert_int_equal(fee_bumps_find(db, item, 1, NULL), ERR_OK);
    const int64_t pages = touched(db) - before;
    db_rollback(db);
    return pages;
}

static const char sql_record_bump[] =
    "SELECT * FROM fairway.record_fee_bumps(ARRAY[sha256('new')], ARRAY[sha256('lease')], '{100}',"
    " ARRAY[(SELECT min(public_key::text) FROM fairway.channel_accounts)], '{\"\"}', '{0}', '{0}')";

/* As in a session that has planned while there was no fee bump, and with statistics from that time. */
static void DX10_a_fee_bump_finds_those_of_its_lease_in_a_few_pages(void **state)
{
    struct test_pool *pool = *state;
    struct db *db = test_db_open(&pool->test);
    struct fee_bump_item item;
    test_db_exec(&pool->test, "ANALYZE fairway.fee_bumps");
    pages_of_find(pool, db, &item);
    pages_of(db, sql_record_bump);
    add_fee_bumps(pool);
    exec_unchecked(pool,
        "INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id,"
        " granted_at)"
        " SELECT a.lease_hash, a.public_key, 1, '', '\\x00', 1, '', a.locked_at"
        " FROM fairway.channel_accounts a WHERE a.lease_hash IS NOT NULL;");
    pages_of(db, sql_record_bump); /* its INSERT is planned when it first has a row */
    const int64_t find = pages_of_find(pool, db, &item), record = pages_of(db, sql_record_bump);
    db_free(db);
    print_message(
        "among 20,000 fee bumps: found in %" PRId64 " pages, recorded in %" PRId64 "\n", find, record);
    assert_in_range(find, 1, 30);
    assert_in_range(record, 1, 60);
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
static void DX9_the_use_of_a_client_is_read_in_a_few_pages_under_an_old_snapshot(void **state)
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
    const int64_t count = planned_pages_of(pool, "SELECT fairway.count_leases('{a}', 1)");
    print_message("read in %" PRId64 " pages, counted in %" PRId64 "\n", read, count);
    db_free(foreign);
    assert_in_range(read, 1, 15);
    assert_in_range(count, 1, 25);
}

/* As many versions as seven hours of ledgers leave, and as many deleted reports of waiting requests as hours
 * of a shortage. */
static void DX9_the_terms_of_a_grant_are_read_in_a_few_pages_under_an_old_snapshot(void **state)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test, "INSERT INTO fairway.funds VALUES (true, 1, 1, 1, 1, 1, 1);"
                              "INSERT INTO fairway.waiting SELECT 2, 1, 0, now() - interval '11 s' FROM "
                              "generate_series(1, 100000)");
    struct db *foreign = hold_snapshot(pool);
    test_db_exec(&pool->test, "DO $$ BEGIN FOR i IN 1..5000 LOOP UPDATE fairway.cursor SET term = term + 1;"
                              " UPDATE fairway.funds SET balance = i; COMMIT; END LOOP; END $$");
    assert_int_equal(test_db_number(&pool->test, "SELECT fairway.forget_waiting(1000000)"), 100000);
    test_db_exec(
        &pool->test, "INSERT INTO fairway.waiting VALUES (2, 1, 1, clock_timestamp() + interval '0.9 s')");
    const int64_t versions = test_db_number(&pool->test, "SELECT pg_relation_size('fairway.waiting') / 8192"),
                  terms = planned_pages_of(pool, grant_terms_sql),
                  share = planned_pages_of(pool, "SELECT * FROM fairway.share_of_idle(1, 1, '{}')");
    print_message("read in %" PRId64 " pages, share in %" PRId64 "; the waiting requests have %" PRId64 "\n",
        terms, share, versions);
    db_free(foreign);
    assert_true(versions > 500);
    assert_in_range(terms, 1, 15);
    assert_in_range(share, 1, 40);
}

static const char sql_record_limited[] =
    "SELECT * FROM fairway.record_fee_bumps(ARRAY[sha256('new')], ARRAY[sha256('lease')], '{100}',"
    " ARRAY[(SELECT min(public_key::text) FROM fairway.channel_accounts)], '{a}', '{0}', '{9000}')";

static void lease_first(struct test_pool *pool)
{
    add_fee_bumps(pool);
    exec_unchecked(pool,
        "INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id,"
        " granted_at)"
        " SELECT a.lease_hash, a.public_key, 1, '', '\\x00', 1, '', a.locked_at"
        " FROM fairway.channel_accounts a WHERE a.lease_hash IS NOT NULL;");
}

static void DX9_the_fees_of_a_limited_client_are_read_in_a_few_pages_under_an_old_snapshot(void **state)
{
    struct test_pool *pool = *state;
    lease_first(pool);
    test_db_exec(&pool->test, "INSERT INTO fairway.client_fees VALUES ('a', current_date, 0)");
    struct db *foreign = hold_snapshot(pool);
    test_db_exec(&pool->test, "DO $$ BEGIN FOR i IN 1..6000 LOOP"
                              " UPDATE fairway.client_fees SET stroops = i; COMMIT; END LOOP; END $$");
    struct db *db = test_db_open(&pool->test);
    pages_of(db, sql_record_limited);
    const int64_t record = pages_of(db, sql_record_limited);
    db_free(db);
    db_free(foreign);
    print_message("recorded in %" PRId64 " pages\n", record);
    assert_in_range(record, 1, 80);
}

/* Of one lease, each with a higher fee, from $1 + 1 on. */
static const char sql_64_fee_bumps[] =
    "SELECT count(*) FILTER (WHERE f.refused_by IS NULL)::int8 FROM (SELECT"
    " array_agg(sha256(($1 + i)::text::bytea)) AS hashes, array_agg(sha256('lease')) AS leases,"
    " array_agg($1 + i) AS fees, array_agg((SELECT min(public_key::text)"
    "   FROM fairway.channel_accounts)) AS sources, array_agg('a'::text) AS clients,"
    " array_agg(0::bigint) AS none, array_agg(9000::bigint) AS most"
    " FROM (SELECT i::bigint FROM generate_series(1, 64) i) g) a,"
    " fairway.record_fee_bumps(a.hashes, a.leases, a.fees, a.sources, a.clients, a.none, a.most) f";

/* Each fee bump raises the fee of its lease, so each counts. */
static void DX9_a_batch_of_fee_bumps_writes_a_client_once(void **state)
{
    struct test_pool *pool = *state;
    struct detail detail = {0};
    lease_first(pool);
    assert_int_equal(db_begin(pool->db, &detail), ERR_OK);
    for (unsigned batch = 0; batch < 2; batch++) {
        AUTO_ROWS rows = NULL;
        AUTO_ROWS written = NULL;
        if (db_query(pool->db, DB_SQL(sql_64_fee_bumps, DB_I64(1000 + 1000 * batch)), &rows, &detail) !=
                ERR_OK ||
            db_query(pool->db,
                DB_SQL0("SELECT pg_stat_get_xact_tuples_inserted(t) + pg_stat_get_xact_tuples_updated(t),"
                        " c.stroops FROM (SELECT 'fairway.client_fees'::regclass::oid) r (t),"
                        " fairway.client_fees c"),
                &written, &detail) != ERR_OK)
            fail_msg("%s", detail.text);
        assert_int_equal(db_i64(rows, 0, 0), 64);
        assert_int_equal(db_i64(written, 0, 0), 2 + batch); /* the first one inserts the row */
        assert_int_equal(db_i64(written, 0, 1), 1064 - 3 + 1000 * batch);
    }
    db_rollback(pool->db);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(DX10_the_lease_of_a_call_is_found_in_a_few_pages),
        TEST(DX10_a_key_is_found_in_a_few_pages_though_statistics_know_of_none),
        TEST(DX10_a_key_is_found_in_a_few_pages_by_a_session_that_planned_for_an_empty_table),
        TEST(DX10_a_lease_is_found_by_its_hash_in_a_few_pages),
        TEST(DX10_a_claim_reads_only_the_accounts_that_it_passes),
        TEST(H16_a_claim_takes_exactly_what_it_wants_or_all_idle_accounts),
        TEST(H16_a_claim_of_submissions_takes_no_more_than_it_wants),
        TEST(a_claim_starts_at_a_random_slot),
        TEST(DX10_a_fee_bump_finds_those_of_its_lease_in_a_few_pages),
        TEST(DX9_the_use_of_a_client_is_read_in_a_few_pages_under_an_old_snapshot),
        TEST(DX9_the_terms_of_a_grant_are_read_in_a_few_pages_under_an_old_snapshot),
        TEST(DX9_the_fees_of_a_limited_client_are_read_in_a_few_pages_under_an_old_snapshot),
        TEST(DX9_a_batch_of_fee_bumps_writes_a_client_once),
    };
    return cmocka_run_group_tests_name("plans", tests, test_pg_start, test_pg_stop);
}
