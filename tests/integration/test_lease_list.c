/* The leases that have ended, read by a cursor: in their order, each once, and none is skipped. */
#include "check.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pool/lease_lookup.h"
#include "pool/settle.h"
#include "support/pool_rows.h"
#include "support/settle_alone.h"

static struct test_db test;
static struct db *db;
static struct detail detail;

static int set_up(void **state)
{
    test = test_db_new(TEST_DB_MIGRATED);
    ledger_row(&test, 0);
    account_row(&test, 1, "retiring"); /* its key seals the other accounts */
    db = test_db_open(&test);
    return 0;
}

static int tear_down(void **state)
{
    db_free(db);
    test_db_drop(&test);
    return 0;
}

/* Leases `count` accounts, in turn for clients a, b and c. Each second one expires a minute later. */
static void lease(unsigned count)
{
    test_db_execf(&test,
        "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence, "
        "sequence_ledger, "
        "state) SELECT 'G' || rpad(translate(upper(md5(n::text)), '0189', 'GHIJ'), 55, 'A'), n + 10, "
        "a.sealed_seed,"
        " a.key_id, 50, 100, 'active' FROM fairway.channel_accounts a, generate_series(1, %u) n;"
        "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, "
        "request_id,"
        " granted_at) SELECT sha256(a.public_key::bytea), a.public_key, 51, substr('abc', a.slot %% 3 + 1, "
        "1), '',"
        " floor(extract(epoch FROM now()))::int8 + 60 * (a.slot %% 2 + 1), 'r', now()"
        " FROM fairway.channel_accounts a WHERE a.slot > 10 RETURNING *)"
        " UPDATE fairway.channel_accounts a SET lease_hash = l.hash, lease_client = l.client, lease_sequence "
        "= 51,"
        " lease_max_time = l.max_time, locked_at = l.granted_at"
        " FROM l WHERE a.public_key = l.account",
        count);
}

/* Settles a ledger that closes after the max time of the first half of the leases, or of all. */
static enum err close_ledger(struct db *session, void *context)
{
    const uint32_t sequence = *(const uint32_t *)context;
    struct settled settled;
    struct ledger ledger = {.sequence = sequence,
        .close_time_s =
            (uint64_t)test_db_number(&test, "SELECT floor(extract(epoch FROM now()))::int8") + 62};
    ledger.close_time_s += sequence > 101 ? 60 : 0;
    return settle_alone(session, &ledger, NULL, &settled, &detail);
}

static void *close_ledgers(void *context)
{
    struct db *session = test_db_open(&test);
    for (uint32_t sequence = 101; sequence <= 102; sequence++)
        if (db_transaction(session, close_ledger, &sequence, &detail) != ERR_OK)
            print_error("%s\n", detail.text);
    db_free(session);
    atomic_store((atomic_bool *)context, true);
    return NULL;
}

/* Reads a page, and moves the cursor as a client does. Returns how many items it has. */
static size_t read_page(int64_t *cursor, const char *client, size_t limit)
{
    struct lease_list list CLEANUP(lease_list_free) = {0};
    if (lease_list_read(db, client, *cursor, limit, &list, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    for (size_t i = 0; i < list.count; i++) {
        const struct lease_status *status = &list.items[i];
        assert_true(status->ended > *cursor);
        *cursor = status->ended;
        assert_string_equal(status->status, "expired");
        assert_int_equal(status->ledger, *cursor >> 31);
        assert_int_equal(status->sequence, 51);
    }
    assert_true(list.next >= *cursor && (list.count < limit || list.next == *cursor));
    *cursor = list.next;
    return list.count;
}

static int64_t ends_of(const char *client)
{
    AUTO_FREE char *sql = mem_format(
        "SELECT count(*) FROM fairway.lease_history WHERE result IS NOT NULL AND client = '%s'", client);
    return test_db_number(&test, sql);
}

/* Each ledger ends more leases than one statement writes. Its ends are visible at once or not at all. */
TEST(a_reader_gets_each_end_once_while_ledgers_are_committed)
{
    pthread_t thread;
    atomic_bool ended = false;
    int64_t cursor = 0, again = 0;
    int64_t seen = 0;
    lease(11000);
    assert_int_equal(pthread_create(&thread, NULL, close_ledgers, &ended), 0);
    for (bool last = false; !last;) {
        last = atomic_load(&ended);
        for (size_t n = 97; n == 97; seen += (int64_t)n)
            n = read_page(&cursor, "b", 97);
    }
    pthread_join(thread, NULL);
    assert_in_range(seen, 3600, 3700);
    assert_int_equal(seen, ends_of("b"));
    assert_int_equal(cursor, LEASE_ENDS(102));
    assert_int_equal(
        test_db_number(&test, "SELECT count(DISTINCT (ended_ledger, place)) FROM fairway.lease_results"),
        11000);
    for (size_t n = 1000; n == 1000; seen -= (int64_t)n)
        n = read_page(&again, "b", 1000);
    assert_int_equal(seen, 0);
}

/* ---- plans */

/* The pages of fairway's tables and indexes that reading ten ends touches. */
static int64_t pages(struct db *session)
{
    static const char sql[] =
        "SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int8 FROM pg_class c"
        " WHERE c.relnamespace = 'fairway'::regnamespace";
    struct lease_list list CLEANUP(lease_list_free) = {0};
    AUTO_ROWS before = NULL;
    AUTO_ROWS after = NULL;
    assert_int_equal(db_begin(session, NULL), ERR_OK);
    assert_int_equal(db_query(session, DB_SQL0(sql), &before, &detail), ERR_OK);
    if (lease_list_read(session, "a", LEASE_ENDS((int64_t)50) - 1000000, 10, &list, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(db_query(session, DB_SQL0(sql), &after, &detail), ERR_OK);
    db_rollback(session);
    return db_i64(after, 0, 0) - db_i64(before, 0, 0);
}

/* 8 days with 5,000 ends each, in ledgers up to 100, of leases that were granted 50 at a time. */
static void fill(void)
{
    test_db_exec(&test,
        "SELECT fairway.add_partitions(current_date - 7, current_date);"
        "SET session_replication_role = replica;"
        "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, "
        "request_id,"
        " granted_at) SELECT sha256(n::text::bytea), 'G', n, substr('ab', n % 2 + 1, 1), repeat('x', "
        "300)::bytea, 1,"
        " 'r', now() - (n % 8) * interval '1 day' + n / 400 * interval '1 us' FROM generate_series(0, 39999) "
        "n "
        "RETURNING *)"
        " INSERT INTO fairway.lease_results (hash, granted_at, result, ledger, client, ended_ledger, place)"
        " SELECT l.hash, l.granted_at, 'expired', 1, CASE WHEN l.sequence % 400 < 8 THEN l.client END,"
        " l.sequence / 400, l.sequence % 400 FROM l");
}

TEST(DX10_a_page_costs_the_same_whatever_the_statistics_say)
{
    static const char *const statistics[] = {"SELECT", "ANALYZE",
        "UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relname ~ '_20[0-9]{6}'",
        "UPDATE pg_class SET reltuples = 1, relpages = 1 WHERE relname ~ '_20[0-9]{6}'"};
    AUTO_DB planned = test_db_open(&test);
    pages(planned); /* plans for empty tables */
    fill();
    const int64_t early = pages(planned);
    print_message("ten ends of 40,000: %" PRId64 " pages\n", early);
    assert_in_range(early, 1, 900);
    for (size_t i = 0; i < ARRAY_LEN(statistics); i++) {
        test_db_exec(&test, statistics[i]);
        AUTO_DB session = test_db_open(&test);
        pages(session);
        assert_in_range(pages(session), 1, 900);
    }
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
