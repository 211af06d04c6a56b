/*
 * Migration 0010 on a database with leases of the version before it, which grants meanwhile: what was
 * committed is settled, found and kept; every later statement of that version fails, and with it its
 * transaction; this version grants as soon as the migration is committed. FAIRWAY_SIZE=long: on a million
 * leases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../src/db/embedded.h"
#include "base/clock.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "slowness.h"
#include "support/pool_rows.h"
#include "support/settle_honest.h"

#define ACCOUNTS 200
#define CHUNK 25000
#define BEFORE 9      /* migrations of the version before */
#define PAUSE_MS 3000 /* at most, between the last grant of that version and the first of this one */

static struct test_db database;
static struct db *db;
static struct detail detail;

static int old_rows(void)
{
    const char *size = getenv("FAIRWAY_SIZE");
    return size != NULL && strcmp(size, "long") == 0 ? 1000000 : 50000;
}

/* Adds CHUNK settled leases, each with a key and a fee bump; all of them are of the last seven days. */
static void add_old_leases(int from)
{
    test_db_execf(&database,
        TEST_UNCHECKED(
            "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, idempotency_key,"
            "   request_digest, envelope, max_time, request_id, granted_at, settled_at, result, result_code,"
            "   ledger)"
            "   SELECT sha256(n::text::bytea), (SELECT min(public_key) FROM fairway.channel_accounts), n, '',"
            "   'key ' || n, sha256('body'), decode(repeat(md5(n::text), 15), 'hex'), 1, 'old', t.at, t.at,"
            "   'confirmed', 'txSUCCESS', 1 FROM generate_series(%d, %d) n,"
            "   LATERAL (SELECT now() - n * interval '7 days' / %d AS at) t RETURNING hash)"
            " INSERT INTO fairway.fee_bumps (hash, lease_hash, fee) SELECT sha256(hash), hash, 200 FROM l"),
        from, from + CHUNK - 1, old_rows());
}

static int open_database(void **state)
{
    size_t applied;
    (void)state;
    database = test_db_new(TEST_DB_EMPTY);
    db = test_db_open(&database, DB_DIRECT);
    assert_int_equal(migrate_list(db, embedded_migrations, BEFORE, &applied, &detail), ERR_OK);
    ledger_row(&database, 1);
    for (unsigned n = 0; n < ACCOUNTS; n++)
        account_row(&database, n, "active");
    for (int from = 1; from <= old_rows(); from += CHUNK)
        add_old_leases(from);
    return 0;
}

static int close_database(void **state)
{
    (void)state;
    db_free(db);
    test_db_drop(&database);
    return 0;
}

/* ---- the version before: its statements, word for word */

static const char old_claim[] = "SELECT a.public_key FROM fairway.claim_accounts($1, $2) a";

static const char old_record[] =
    "WITH granted AS MATERIALIZED ("
    "   SELECT * FROM unnest($1::bytea[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::bytea[],"
    "   $7::int8[], $8::int8[], $9::text[], $10::text[], $11::bytea[])"
    "   AS g (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id,"
    "   idempotency_key, request_digest)),"
    " recorded AS ("
    "   INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time,"
    "   max_ledger, request_id, idempotency_key, request_digest)"
    "   SELECT hash, account, sequence, sequence_ledger, client, envelope, max_time, nullif(max_ledger, 0),"
    "   request_id, idempotency_key, request_digest FROM granted)"
    " UPDATE fairway.channel_accounts a"
    " SET lease_hash = g.hash, locked_at = clock_timestamp(), locked_until = to_timestamp(g.max_time)"
    " FROM granted g WHERE a.public_key = g.account AND a.state = 'active' AND a.lease_hash IS NULL";

static const char old_settle[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = r.ledger, result_code = r.code,"
    " result = CASE r.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END"
    " FROM unnest($1::bytea[], $2::text[], $3::int8[]) AS r (hash, code, ledger)"
    " WHERE l.hash = r.hash AND l.settled_at IS NULL RETURNING l.account, l.result";

static const char old_pass[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $3, result = $4"
    " FROM unnest($1::text[], $2::int8[]) AS n (account, sequence)"
    " WHERE l.account = n.account AND l.settled_at IS NULL AND l.sequence <= n.sequence"
    " RETURNING l.account, l.result";

static const char old_expire[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $1, result = 'expired'"
    " WHERE l.settled_at IS NULL AND (l.max_time < $2 OR l.max_ledger <= $1 + 1)"
    " RETURNING l.account, l.result";

static const char old_release[] =
    "UPDATE fairway.channel_accounts a SET lease_hash = NULL, locked_at = NULL, locked_until = NULL"
    " WHERE a.public_key = ANY ($1::text[])";

static const char old_bump[] =
    "WITH lease AS (SELECT l.hash FROM fairway.leases l"
    "   WHERE l.hash = $2 AND l.settled_at IS NULL FOR SHARE),"
    " bump AS (INSERT INTO fairway.fee_bumps (hash, lease_hash, fee) SELECT $1, lease.hash, $3 FROM lease"
    "   ON CONFLICT (hash) DO NOTHING)"
    " SELECT count(*) FROM lease";

/* Of housekeeping, without its progress. */
static const char old_delete[] =
    "DELETE FROM fairway.leases WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM fairway.leases l"
    " WHERE l.settled_at < statement_timestamp() - make_interval(secs => $1::int8)))";
static const char old_forget[] = "UPDATE fairway.leases SET idempotency_key = NULL, request_digest = NULL"
                                 " WHERE granted_at < statement_timestamp() - interval '24 hours'";

struct old_replica {
    struct db *db;
    int64_t max_time_s, granted_ms; /* granted_ms: when it granted last */
    unsigned granted, failed_in_a_row;
    bool stop;
};

/* Grants one lease of the given number with the key "new N". */
static enum err old_grant(struct old_replica *replica, unsigned n)
{
    AUTO_ROWS rows = NULL;
    AUTO_FREE char *key = mem_format("new %u", n);
    const struct hash hash = built_hash(1000 + n), digest = built_hash(1);
    const struct bytes spans[] = {BYTES_OF(hash.bytes), BYTES_OF(digest.bytes)};
    const char *const none = "", *const id = "r", *const keys = key;
    const int64_t sequence = 51, zero = 0, ledger = 100;
    enum err e = db_begin(replica->db, NULL);
    if (e == ERR_OK)
        e = db_query(
            replica->db, DB_SQL(old_claim, DB_I64(1), DB_TEXTS((const char *const *)NULL, 0)), &rows, NULL);
    if (e == ERR_OK && db_count(rows) == 0)
        e = ERR_NOT_YET;
    const char *account = e == ERR_OK ? db_text(rows, 0, 0) : NULL;
    if (e == ERR_OK)
        e = db_query(replica->db,
            DB_SQL(old_record, DB_BYTEAS(&spans[0], 1), DB_TEXTS(&account, 1), DB_I64S(&sequence, 1),
                DB_I64S(&ledger, 1), DB_TEXTS(&none, 1), DB_BYTEAS(&spans[0], 1),
                DB_I64S(&replica->max_time_s, 1), DB_I64S(&zero, 1), DB_TEXTS(&id, 1), DB_TEXTS(&keys, 1),
                DB_BYTEAS(&spans[1], 1)),
            NULL, NULL);
    if (e == ERR_OK)
        e = db_commit(replica->db, NULL);
    if (e != ERR_OK)
        db_rollback(replica->db);
    return e;
}

static void *run_old(void *context)
{
    struct old_replica *replica = context;
    while (!__atomic_load_n(&replica->stop, __ATOMIC_SEQ_CST) && replica->granted < ACCOUNTS) {
        bool granted = old_grant(replica, replica->granted) == ERR_OK;
        if (granted)
            __atomic_store_n(&replica->granted_ms, clock_ms(), __ATOMIC_SEQ_CST);
        __atomic_store_n(&replica->granted, replica->granted + granted, __ATOMIC_SEQ_CST);
        __atomic_store_n(
            &replica->failed_in_a_row, granted ? 0 : replica->failed_in_a_row + 1, __ATOMIC_SEQ_CST);
        clock_sleep_ms(20);
    }
    return NULL;
}

/* A lease of this version on an idle account. */
static void grant_new(void)
{
    test_db_exec(&database, "SELECT" TEST_LEASE("sha256('first')",
                                "(SELECT min(a.public_key::text) FROM fairway.channel_accounts a"
                                " WHERE a.lease_hash IS NULL)",
                                "51", "''"));
}

/* Migrates while the old version grants, and grants a lease. Returns how many leases the old version has
 * granted. */
static unsigned migrate_under_load(int64_t max_time_s)
{
    struct old_replica replica = {
        .db = db_new(&(struct db_settings){.url = database.url, .kind = DB_DIRECT, .name = "old version"}),
        .max_time_s = max_time_s};
    pthread_t thread;
    size_t applied;
    assert_int_equal(pthread_create(&thread, NULL, run_old, &replica), 0);
    while (__atomic_load_n(&replica.granted, __ATOMIC_SEQ_CST) < 5)
        clock_sleep_ms(5);
    const int64_t begun_ms = clock_ms();
    if (migrate(db, &applied, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_true(applied >= 2);
    const int64_t migrated_ms = clock_ms();
    grant_new();
    const int64_t pause_ms = clock_ms() - __atomic_load_n(&replica.granted_ms, __ATOMIC_SEQ_CST);
    print_message("%d leases: migrated in %lld ms, nothing was granted for %lld ms\n", old_rows(),
        (long long)(migrated_ms - begun_ms), (long long)pause_ms);
    assert_in_range(pause_ms, 0, slower(PAUSE_MS));
    for (int64_t end_ms = clock_ms() + slower(20000);
         __atomic_load_n(&replica.failed_in_a_row, __ATOMIC_SEQ_CST) < 3; clock_sleep_ms(5))
        assert_true(clock_left_ms(end_ms) > 0); /* the old version can still grant */
    __atomic_store_n(&replica.stop, true, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    db_free(replica.db);
    return replica.granted;
}

/* ---- what the new version makes of it */

/* Some read the whole history. */
static int64_t number(const char *sql)
{
    AUTO_ROWS rows = NULL;
    struct db *reader = db_new(&(struct db_settings){
        .url = database.url, .kind = DB_DIRECT, .name = "reader", .statement_timeout_ms = 600000});
    if (db_query(reader, (struct db_statement){sql, NULL, 0}, &rows, &detail) != ERR_OK)
        fail_msg("%s: %s", sql, detail.text);
    const int64_t value = db_i64(rows, 0, 0);
    db_free(reader);
    return value;
}

static void assert_refused(struct db_statement statement)
{
    if (db_query(db, statement, NULL, NULL) == ERR_OK)
        fail_msg("still works: %s", statement.sql);
}

static void old_statements_fail(void)
{
    const struct hash hash = built_hash(1000);
    const struct bytes span = BYTES_OF(hash.bytes);
    const char *const code = "txSUCCESS";
    const int64_t ledger = 101;
    AUTO_ROWS rows = NULL;
    assert_int_equal(
        db_query(db, DB_SQL0("SELECT public_key FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL"),
            &rows, NULL),
        ERR_OK);
    const char *account = db_text(rows, 0, 0);
    assert_refused(DB_SQL(old_settle, DB_BYTEAS(&span, 1), DB_TEXTS(&code, 1), DB_I64S(&ledger, 1)));
    assert_refused(
        DB_SQL(old_pass, DB_TEXTS(&account, 1), DB_I64S(&ledger, 1), DB_I64(ledger), DB_TEXT("superseded")));
    assert_refused(DB_SQL(old_expire, DB_I64(ledger), DB_I64(INT64_MAX)));
    assert_refused(DB_SQL(old_delete, DB_I64(0)));
    assert_refused(DB_SQL0(old_forget));
    assert_refused(DB_SQL(old_release, DB_TEXTS(&account, 1)));
    assert_refused(DB_SQL(old_bump, DB_BYTEA(span), DB_BYTEA(span), DB_I64(200)));
    assert_refused(DB_SQL0("DELETE FROM fairway.leases_before_0010"));
}

static void settle(const struct ledger *ledger, size_t expected)
{
    struct settled settled = {0};
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    if (settle_honest(db, ledger, &settled, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(db_commit(db, &detail), ERR_OK);
    assert_int_equal(settled.released, expected);
}

/* The first lease is in a ledger, the others expire. granted: with that of this version. */
static void settle_leases(unsigned granted, int64_t max_time_s)
{
    AUTO_ROWS rows = NULL;
    struct ledger_transaction transaction = {.hash = built_hash(1000), .sequence = 51, .consumed = true};
    assert_int_equal(db_query(db,
                         DB_SQL("SELECT public_key FROM fairway.channel_accounts WHERE lease_hash = $1",
                             DB_BYTEA(BYTES_OF(transaction.hash.bytes))),
                         &rows, NULL),
        ERR_OK);
    assert_int_equal(address_decode(db_text(rows, 0, 0), &transaction.source), ERR_OK);
    struct ledger_account account = {.key = transaction.source, .sequence = 51, .own_authority = true};
    settle(&(struct ledger){.sequence = 101,
               .close_time_s = (uint64_t)max_time_s,
               .transactions = &transaction,
               .transaction_count = 1,
               .accounts = &account,
               .account_count = 1},
        2); /* this version's lease was for a minute */
    settle(&(struct ledger){.sequence = 102, .close_time_s = (uint64_t)max_time_s + 1}, granted - 2);
    assert_int_equal(number("SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL"), 0);
    assert_int_equal(
        number("SELECT count(*) FROM fairway.lease_history WHERE result = 'expired'"), granted - 1);
}

#define FOUND_KEYS(keys) "SELECT count(*) FROM fairway.find_keys(ARRAY['', '', ''], ARRAY[" keys "])"

static void old_history_is_found(void)
{
    AUTO_FREE char *oldest = mem_format(FOUND_KEYS("'key %d', 'none', 'none'"), old_rows());
    assert_int_equal(number(FOUND_KEYS("'new 0', 'key 1', 'none'")), 2);
    assert_int_equal(number(oldest), 0); /* seven days old */
    assert_int_equal(
        number("SELECT count(*) FROM fairway.find_leases(ARRAY[sha256('77'), sha256(sha256('78')),"
               " sha256('none')]) l WHERE l.result = 'confirmed'"),
        2);
}

static int64_t old_history(void)
{
    return number("SELECT count(*) FROM fairway.lease_history WHERE request_id = 'old'");
}

/* As if the migration had been applied so long ago. */
static void set_applied(int days_ago)
{
    test_db_execf(&database,
        "UPDATE fairway.migrations SET applied_at = now() - interval '%d days' WHERE number = 10", days_ago);
}

/* With the retention time over, the old tables are dropped, and everything else goes on. */
static void old_tables_end(unsigned granted)
{
    assert_int_equal(old_history(), old_rows());
    set_applied(6);
    assert_int_equal(number("SELECT fairway.drop_history('7 days')"), 0);
    assert_int_equal(old_history(), old_rows());
    set_applied(9);
    assert_int_equal(number("SELECT fairway.drop_history('7 days')"), 2);
    assert_int_equal(number("SELECT (to_regclass('fairway.leases_before_0010') IS NULL)::int::int8"), 1);
    assert_int_equal(number("SELECT count(*) FROM fairway.lease_history"), 1); /* that of this version */
    assert_int_equal(number("SELECT count(*) FROM fairway.all_lease_results"), granted);
    test_db_exec(&database, "UPDATE fairway.channel_accounts SET sequence = sequence");
    lease_row(&database, 7, "", 0);
    lease_row_end(&database, 7, "superseded", NULL);
    assert_int_equal(number("SELECT count(*) FROM fairway.lease_history WHERE result = 'superseded'"), 1);
}

static void leases_of_the_version_before_are_kept_settled_and_found(void **state)
{
    (void)state;
    const int64_t max_time_s = number("SELECT floor(extract(epoch FROM now()))::int8 + 300");
    const unsigned granted = migrate_under_load(max_time_s) + 1;
    assert_int_equal(number("SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL"), granted);
    assert_int_equal(number("SELECT count(*) FROM fairway.channel_accounts a JOIN fairway.all_leases l"
                            " ON l.hash = a.lease_hash AND l.granted_at = a.locked_at"
                            " AND l.account = a.public_key AND l.max_time = a.lease_max_time"
                            " AND l.sequence = a.lease_sequence AND l.client = a.lease_client"),
        granted);
    old_statements_fail();
    assert_int_equal(number("SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL"), granted);
    settle_leases(granted, max_time_s);
    old_history_is_found();
    old_tables_end(granted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        leases_of_the_version_before_are_kept_settled_and_found, open_database, close_database)};
    return cmocka_run_group_tests_name("migration 0010", tests, test_pg_start, test_pg_stop);
}
