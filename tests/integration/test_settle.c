/* What a ledger does to leases and accounts, on a real PostgreSQL. The ledger transaction around it is tested
 * by test_ingest_commit. */
#include "check.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "pool/settle.h"
#include "stellar/policy.h"
#include "support/ledger_builder.h"
#include "support/pg.h"
#include "support/pool_rows.h"
#include "slowness.h"
#include "support/settle_alone.h"

#define NEXT (POOL_ROWS_LEDGER + 1)
#define TX_SUCCESS 0

struct fixture {
    struct test_db test;
    struct db *db;
    struct settled settled;
    struct settle_search *search; /* NULL: each ledger searches the pool */
};

static struct network_id network;

static int set_up(void **state)
{
    struct fixture *f = NEW(struct fixture);
    network = network_id_of(BUILT_PASSPHRASE);
    f->test = test_db_new(TEST_DB_MIGRATED);
    ledger_row(&f->test, 0);
    f->db = test_db_open(&f->test);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    db_free(f->db);
    test_db_drop(&f->test);
    free(f);
    return 0;
}

struct closing {
    struct fixture *fixture;
    const struct ledger *ledger;
};

static enum err settle(struct db *db, void *context)
{
    struct closing *closing = context;
    struct detail detail = {0};
    enum err e =
        settle_alone(db, closing->ledger, closing->fixture->search, &closing->fixture->settled, &detail);
    if (e != ERR_OK)
        print_error("settle_ledger: %s\n", detail.text);
    return e;
}

/* Settles one ledger with these transactions and accounts. */
static void close_ledger(struct fixture *f, uint32_t sequence, uint64_t close_time_s,
    const struct built_transaction transactions[], size_t transaction_count,
    const struct built_account accounts[], size_t account_count)
{
    struct buf meta CLEANUP(buf_free) = {0};
    struct hash hash;
    struct ledger ledger CLEANUP(ledger_free);
    struct detail detail = {0};
    ledger_build(&(struct built_ledger){.meta_version = 2,
                     .sequence = sequence,
                     .close_time_s = close_time_s,
                     .transactions = transactions,
                     .transaction_count = transaction_count,
                     .accounts = accounts,
                     .account_count = account_count},
        &meta, &hash);
    assert_int_equal(ledger_decode(buf_bytes(&meta), &network, &ledger, &detail), ERR_OK);
    struct closing closing = {f, &ledger};
    assert_int_equal(db_transaction(f->db, settle, &closing, &detail), ERR_OK);
}

static uint64_t now_s(struct fixture *f)
{
    return (uint64_t)test_db_number(&f->test, "SELECT floor(extract(epoch FROM clock_timestamp()))::int8");
}

/* Inserts account n with an open lease of sequence number 51. */
static void leased(struct fixture *f, unsigned n)
{
    account_row(&f->test, n, "active");
    lease_row(&f->test, n, "", 0);
}

/* Settles a ledger with account n's leased transaction, its result, and the account's sequence number after
 * it. */
static void close_with(struct fixture *f, unsigned n, int32_t code, int64_t sequence)
{
    const struct built_transaction transaction = {.hash = built_hash(n), .code = code};
    const struct built_account account = {.key = built_key(n), .sequence = sequence};
    close_ledger(f, NEXT, now_s(f), &transaction, 1, &account, 1);
}

static int64_t count(struct fixture *f, const char *where)
{
    AUTO_FREE char *sql =
        mem_format("SELECT count(*) FROM fairway.lease_history l JOIN fairway.channel_accounts a"
                   " ON a.public_key = l.account WHERE %s",
            where);
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    AUTO_DB other = test_db_open(&f->test); /* f->db may have an open transaction */
    assert_int_equal(db_query(other, DB_SQL0(sql), &rows, &detail), ERR_OK);
    return db_i64(rows, 0, 0);
}

/* A search of history takes longer the more days are kept, and a lease that is open is not in it. */
TEST(DX10_a_ledger_whose_transactions_are_open_leases_does_not_search_history)
{
    struct fixture *f = *state;
    leased(f, 1);
    test_db_exec(&f->test, "DROP FUNCTION fairway.find_leases(bytea[])");
    close_with(f, 1, TX_SUCCESS, 51);
    assert_int_equal(f->settled.confirmed, 1);
}

TEST(H18_a_lease_expires_only_when_a_ledger_closed_after_its_max_time)
{
    struct fixture *f = *state;
    leased(f, 1);
    uint64_t max_time_s = (uint64_t)test_db_number(&f->test, "SELECT max_time FROM fairway.lease_history");
    close_ledger(f, NEXT, max_time_s, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 0); /* another ledger may close in the same second and include it */
    close_ledger(f, NEXT + 1, max_time_s + 1, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1);
    assert_int_equal(
        count(f,
            "l.result = 'expired' AND l.result_code IS NULL AND a.lease_hash IS NULL AND a.state = 'active'"
            " AND a.sequence = 50 AND a.sequence_ledger = 100"),
        1);
}

struct locker {
    const struct test_db *test;
    struct db *db;
};

/* Has locked the row of client "a", and needs that of "b" when another session waits. */
static void *lock_in_order(void *context)
{
    const struct locker *locker = context;
    struct db *other = locker->db;
    const bool waits = test_db_await_lock_wait(locker->test, slower(10000));
    if (db_query(other, DB_SQL0("SET LOCAL lock_timeout = 400"), NULL, NULL) != ERR_OK ||
        db_query(other, DB_SQL0("SELECT fairway.lock_clients('{b}')"), NULL, NULL) != ERR_OK) {
        db_rollback(other);
        return "lock the second client";
    }
    return db_commit(other, NULL) == ERR_OK && waits ? NULL : "wait";
}

TEST(DL8_a_ledger_that_writes_in_parts_locks_clients_in_their_order)
{
    struct fixture *f = *state;
    const unsigned leases = 5003;
    leased_rows(&f->test, 1, leases);
    test_db_exec(
        &f->test, "INSERT INTO fairway.client_usage (client) VALUES ('a'), ('b');" TEST_CHANGE_LEASES(
                      "client = CASE WHEN account COLLATE \"C\" <= (SELECT public_key FROM "
                      "fairway.channel_accounts ORDER BY public_key"
                      " COLLATE \"C\" LIMIT 1 OFFSET 4999) THEN 'b' ELSE 'a' END"));
    struct db *other = test_db_open(&f->test);
    assert_int_equal(db_begin(other, NULL), ERR_OK);
    assert_int_equal(db_query(other, DB_SQL0("SELECT fairway.lock_clients('{a}')"), NULL, NULL), ERR_OK);
    struct locker locker = {&f->test, other};
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, lock_in_order, &locker), 0);
    close_ledger(f, NEXT, now_s(f) + 61, NULL, 0, NULL, 0);
    pthread_join(thread, &failed);
    db_free(other);
    if (failed != NULL)
        fail_msg("could not %s", (const char *)failed);
    assert_int_equal(f->settled.expired, leases);
}

/* The service that fairway replaces freed an account 30 s after the lease began, even if the transaction was
 * valid for longer. */
TEST(H1_only_a_close_time_after_its_max_time_ends_a_lease_never_a_clock)
{
    struct fixture *f = *state;
    leased(f, 1);
    uint64_t max_time_s = (uint64_t)test_db_number(&f->test, "SELECT max_time FROM fairway.lease_history");
    test_db_exec(
        &f->test, "SELECT fairway.add_partitions(current_date - 2, current_date);" TEST_CHANGE_LEASES(
                      "granted_at = granted_at - interval '1 day'"));
    close_ledger(f, NEXT, max_time_s - 1, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.released, 0);
    assert_int_equal(count(f, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 1);
    close_ledger(f, NEXT + 1, max_time_s + 1, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1);
}

TEST(a_transaction_in_a_ledger_after_its_max_time_is_confirmed_not_expired)
{
    struct fixture *f = *state;
    leased(f, 1);
    uint64_t max_time_s = (uint64_t)test_db_number(&f->test, "SELECT max_time FROM fairway.lease_history");
    const struct built_transaction transaction = {.hash = built_hash(1)};
    const struct built_account account = {.key = built_key(1), .sequence = 51};
    close_ledger(f, NEXT, max_time_s + 5, &transaction, 1, &account, 1);
    assert_int_equal(f->settled.confirmed, 1);
    assert_int_equal(f->settled.expired, 0);
}

TEST(max_ledger_is_exclusive)
{
    struct fixture *f = *state;
    leased(f, 1);
    test_db_exec(&f->test, TEST_CHANGE_LEASES("max_ledger = 103"));
    close_ledger(f, 101, now_s(f), NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 0); /* ledger 102 may have it */
    close_ledger(f, 102, now_s(f), NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1); /* 103 may not */
}

/* Changes the max time of account n's lease, which was granted since the last search. */
static void leased_until(struct fixture *f, unsigned n, uint64_t max_time_s)
{
    leased(f, n);
    AUTO_FREE char *sql = mem_format(TEST_CHANGE_LEASES("max_time = %" PRIu64 " WHERE hash = (SELECT"
                                                        " lease_hash FROM fairway.channel_accounts WHERE"
                                                        " slot = %u)"),
        max_time_s, n);
    test_db_exec(&f->test, sql);
}

/* As ingestion does after the COMMIT of a ledger. Returns whether the pool was searched. */
static bool search_ahead(struct fixture *f, uint32_t sequence, uint64_t close_time_s)
{
    const uint64_t until_s = f->search->until_s;
    settle_search_ahead(
        f->db, &(struct ledger){.sequence = sequence, .close_time_s = close_time_s}, f->search);
    assert_true(f->search->until_s >= close_time_s + SETTLE_SEARCH_SECONDS);
    return f->search->until_s != until_s;
}

TEST(DX9_a_pool_is_searched_for_leases_that_expire_before_a_ledger_needs_them)
{
    struct fixture *f = *state;
    struct settle_search search = {0};
    const uint64_t now = now_s(f) + 60; /* the clock does not matter then */
    f->search = &search;
    leased_until(f, 1, now + 5);
    close_ledger(f, NEXT, now, NULL, 0, NULL, 0);
    assert_int_equal(search.until_s, now + LEASE_SECONDS_MIN); /* the first ledger searches itself */
    assert_false(search_ahead(f, NEXT, now));
    leased_until(f, 2, 1);
    close_ledger(f, NEXT + 1, now + 6, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1);
    assert_true(search_ahead(f, NEXT + 1, now + SETTLE_SEARCH_SECONDS + 1));
    close_ledger(f, NEXT + 2, now + SETTLE_SEARCH_SECONDS + 1, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1); /* the second one, which only the second search has seen */
    leased_until(f, 3, now + 3600);
    test_db_exec(&f->test, "UPDATE fairway.channel_accounts SET lease_max_ledger = 106 WHERE slot = 3");
    assert_true(search_ahead(f, NEXT + 3, now + 3 * SETTLE_SEARCH_SECONDS));
    close_ledger(f, NEXT + 3, now + 3 * SETTLE_SEARCH_SECONDS, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 0); /* ledger 105 may have it */
    close_ledger(f, NEXT + 4, now + 3 * SETTLE_SEARCH_SECONDS, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1);
    leased_until(f, 4, now + 3600); /* no search sees it: its authorization expires with ledger 106 */
    test_db_exec(&f->test, "UPDATE fairway.channel_accounts SET lease_max_ledger = 107 WHERE slot = 4;"
                           "INSERT INTO fairway.lease_claims SELECT e, a.locked_at, '', e::text::bytea,"
                           " a.lease_hash, a.lease_hash, a.public_key FROM fairway.channel_accounts a,"
                           " unnest('{106,107}'::int8[]) e WHERE a.slot = 4");
    close_ledger(f, NEXT + 5, now + 3 * SETTLE_SEARCH_SECONDS, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1);
    assert_int_equal(test_db_number(&f->test, "SELECT count(*) FROM fairway.lease_claims"), 0);
    leased_until(f, 5, 1);
    close_ledger(f, NEXT + 6, now + 3600, NULL, 0, NULL, 0);
    assert_int_equal(f->settled.expired, 1); /* beyond what the search has seen, a ledger searches itself */
    settle_search_free(&search);
}

TEST(a_removed_account_or_a_changed_signer_quarantines_and_the_lease_stays_open)
{
    struct fixture *f = *state;
    const struct built_account changed[] = {{.key = built_key(1), .removed = true},
        {.key = built_key(2), .sequence = 50, .foreign_signer = true}};
    leased(f, 1);
    leased(f, 2);
    close_ledger(f, NEXT, now_s(f), NULL, 0, changed, 2);
    assert_int_equal(f->settled.quarantined, 2);
    assert_int_equal(f->settled.released, 0);
    assert_int_equal(
        count(f, "l.settled_at IS NULL AND a.lease_hash = l.hash AND a.state = 'quarantined'"), 2);
}

/* Runs the statement and tests/assertions.sql in a transaction that is rolled back. Returns the rows of the
 * latter. */
static size_t broken_rules(struct fixture *f, const char *sql)
{
    struct detail detail = {0};
    size_t broken = 0;
    enum err e = db_begin(f->db, &detail);
    if (e == ERR_OK)
        e = db_query(f->db, (struct db_statement){sql, NULL, 0}, NULL, &detail);
    if (e == ERR_OK)
        broken = test_db_broken_rules(f->db);
    db_rollback(f->db);
    if (e != ERR_OK)
        fail_msg("%s: %s", detail.text, sql);
    return broken;
}

/* An open lease on account 2, for which nothing is recorded. */
#define NAMED_BY_ACCOUNT(hash, locked_at)                                                                    \
    "UPDATE fairway.channel_accounts a SET lease_hash = " hash ", lease_client = '', lease_sequence = 51,"   \
    " lease_max_time = 1, locked_at = " locked_at " WHERE a.sealed_seed = decode("                           \
    "repeat('02', 72), 'hex')"
#define LEASE_ROW(hash, account, granted_at)                                                                 \
    "INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id,"           \
    " granted_at) SELECT " hash ", " account ", 51, '', '', 1, 'r', " granted_at " FROM fairway.leases l"

TEST(the_assertions_find_what_breaks_a_rule)
{
    struct fixture *f = *state;
    static const struct {
        const char *what, *sql;
    } wrong[] = {
        {"released, but its lease is open",
            "UPDATE fairway.channel_accounts SET " TEST_NO_LEASE " WHERE lease_hash IS NOT NULL"},
        {"ended, but its account is leased",
            "INSERT INTO fairway.lease_results (hash, granted_at, result, ledger, client, ended_ledger, "
            "place)"
            " SELECT hash, granted_at, 'expired', 101, client, 101, 0 FROM fairway.leases"},
        {"ended, but there is no such lease",
            "INSERT INTO fairway.lease_results (hash, granted_at, result, ledger, client, ended_ledger, "
            "place)"
            " SELECT sha256('no'), granted_at, 'expired', 101, client, 101, 0 FROM fairway.leases"},
        {"leased to nothing", NAMED_BY_ACCOUNT("sha256('no')", "now()")},
        {"leased to the lease of another account",
            NAMED_BY_ACCOUNT("(SELECT hash FROM fairway.leases)", "(SELECT granted_at FROM fairway.leases)")},
        {"two open leases on one account", LEASE_ROW("sha256('2')", "l.account", "l.granted_at")},
        {"a lease on an account that does not exist", LEASE_ROW("sha256('2')", "'G'", "l.granted_at")},
        {"an open lease is replaced by another",
            "WITH l AS (" LEASE_ROW("sha256('2')", "l.account",
                "l.granted_at") " RETURNING *)"
                                " UPDATE fairway.channel_accounts a SET lease_hash = l.hash, lease_max_time "
                                "= l.max_time FROM l"
                                " WHERE a.public_key = l.account"},
        {"the account has another max time than its lease",
            "UPDATE fairway.channel_accounts SET lease_max_time = lease_max_time - 1"},
        {"the account has another max ledger than its lease",
            "UPDATE fairway.channel_accounts SET lease_max_ledger = 1 WHERE lease_hash IS NOT NULL"},
        {"the account has another time than its lease",
            "UPDATE fairway.channel_accounts SET locked_at = locked_at + interval '1 ms'"},
        {"a lease is counted for no contract",
            "UPDATE fairway.channel_accounts SET lease_contract = 'C' WHERE lease_hash IS NOT NULL"},
        {"a contract without leases is counted",
            "INSERT INTO fairway.client_usage SELECT fairway.contract_row('a', 'C'), 0"},
        {"a fee bump of a lease that does not exist",
            "INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)"
            " SELECT sha256('b'), sha256('no'), granted_at, 1 FROM fairway.leases"},
        {"a key of a lease that does not exist",
            "INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)"
            " SELECT '', 'k', sha256(''), sha256('no'), granted_at FROM fairway.leases"},
    };
    leased(f, 1);
    account_row(&f->test, 2, "active");
    assert_int_equal(broken_rules(f, "SELECT 1"), 0);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (broken_rules(f, wrong[i].sql) == 0)
            fail_msg("not found: %s", wrong[i].what);
    assert_int_equal(broken_rules(f, TEST_END_LEASES("'confirmed'", "NULL", "101", "true")), 0);
    static const char expired[] = TEST_END_LEASES("'expired'", "NULL", "101", "true");
    test_db_exec(&f->test,
        "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)"
        " SELECT 101, sha256('a'), 23, max_time, 0 FROM fairway.leases");
    assert_int_equal(broken_rules(f, expired), 1);
    test_db_exec(&f->test, "UPDATE fairway.ledgers SET close_time = close_time + 1 WHERE sequence = 101");
    assert_int_equal(broken_rules(f, expired), 0);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
