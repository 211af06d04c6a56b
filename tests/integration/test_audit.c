/* The audit, on a real PostgreSQL: what the network shows and no ledger does quarantines an account, or puts
 * it back. */
#include "support/ingest_world.h"

#include "upkeep/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "support/pool_rows.h"

#define ACCOUNTS 206 /* more than one request; when six are quarantined, one that is full */
#define LATEST (POOL_ROWS_LEDGER + 5)

enum {
    SAME = 1,
    SIGNER,
    MISSING,
    CONSUMED,
    FROZEN,
    LEASED, /* and its transaction is in a ledger */
    CHANGED,
    QUARANTINED_BEFORE,
    OTHER, /* for another reason */
    LAST = ACCOUNTS
};

static struct audit *audit;
static struct stop stop;
static atomic_bool leads = true;

/* The network's accounts: each as its row says, but those that are named above. */
static void put_accounts(struct ingest_world *world)
{
    for (unsigned n = 1; n <= ACCOUNTS; n++) {
        struct built_account account = {.key = built_key(n), .sequence = 50};
        account.foreign_signer = n == SIGNER || n == CHANGED || n == QUARANTINED_BEFORE || n == LAST;
        account.sequence += n == CONSUMED || n == LEASED;
        if (n != MISSING)
            ledger_feed_put(world->feed, &account);
        account_row(&world->db, n, n == QUARANTINED_BEFORE ? "quarantined" : "active");
    }
    lease_row(&world->db, LEASED, "", 0);
    test_db_execf(&world->db, "UPDATE fairway.channel_accounts SET sequence_ledger = %d WHERE slot = %d",
        LATEST, CHANGED);
}

static int set_up(void **state)
{
    ingest_world_set_up(state);
    assert_int_equal(log_set_level("error"), ERR_OK);
    assert_int_equal(stop_open(&stop, NULL), ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    stop_tell(&stop);
    audit_join(audit);
    stop_close(&stop);
    audit = NULL;
    return ingest_world_tear_down(state);
}

static void start(struct ingest_world *world, unsigned every_ms)
{
    audit = audit_start(&(struct audit_settings){.database_url = world->db.serve_url,
        .feed = world->source,
        .every_ms = every_ms,
        .pause_ms = 1,
        .return_ms = 1,
        .leads = &leads,
        .stop = &stop});
}

static void commit_up_to(struct ingest_world *world, unsigned ledger)
{
    test_db_execf(&world->db,
        "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)"
        " SELECT %u, hash, protocol, close_time, 0 FROM fairway.ledgers LIMIT 1;"
        " UPDATE fairway.cursor SET sequence = %u",
        ledger, ledger);
}

static bool quarantined(const struct ingest_world *world, unsigned n, const char *words)
{
    char address[ADDRESS_SIZE];
    const struct public_key key = built_key(n);
    address_encode(&key, address);
    AUTO_FREE char *sql =
        mem_format("SELECT count(*) FROM fairway.channel_accounts WHERE public_key = '%s' AND"
                   " state = 'quarantined' AND quarantine_reason LIKE '%%%s%%'",
            address, words);
    return test_db_number(&world->db, sql) == 1;
}

#define QUARANTINED "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'quarantined'"

TEST(accounts_that_differ_from_their_rows_are_quarantined_once_the_ledger_is_committed)
{
    struct ingest_world *world = *state;
    ledger_row(&world->db, 1);
    put_accounts(world);
    close_ledgers(world, LATEST - FIRST - 1);
    const struct public_key frozen[] = {built_key(FROZEN), built_key(9999)};
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = frozen, .frozen_count = 2});
    ledger_feed_fail_once(
        world->feed, 2, ERR_RPC_UNAVAILABLE); /* the first read of accounts; it is repeated */
    start(world, 1);
    await_number(world, QUARANTINED, 2); /* frozen is frozen, whatever is committed */
    assert_true(quarantined(world, FROZEN, "froze"));
    clock_sleep_ms(3000);
    assert_int_equal(test_db_number(&world->db, QUARANTINED), 2);
    commit_up_to(world, LATEST);
    await_number(world, QUARANTINED, 6);
    assert_true(quarantined(world, SIGNER, "signers"));
    assert_true(quarantined(world, LAST, "signers"));
    assert_true(quarantined(world, MISSING, "missing"));
    assert_true(quarantined(world, CONSUMED, "did not sign"));
    /* what a later ledger has changed is compared as of a later one */
    close_ledgers(world, 1);
    commit_up_to(world, LATEST + 1);
    await_number(world, QUARANTINED, 7);
    assert_true(quarantined(world, CHANGED, "signers"));
    assert_true(quarantined(world, QUARANTINED_BEFORE, "its signers changed")); /* keeps its reason */
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.channel_accounts WHERE sequence <> 50"), 0);
    assert_int_equal(test_db_number(&world->db,
                         "SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL"),
        1);
}

/* Where validators prove ledgers, these name what changes an account. */
TEST(without_passes_only_frozen_accounts_are_quarantined)
{
    struct ingest_world *world = *state;
    ledger_row(&world->db, 1);
    put_accounts(world);
    close_ledgers(world, LATEST - FIRST - 1);
    const struct public_key frozen[] = {built_key(FROZEN)};
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = frozen, .frozen_count = 1});
    commit_up_to(world, LATEST);
    start(world, 0);
    await_number(world, QUARANTINED, 2);
    clock_sleep_ms(1000);
    assert_int_equal(test_db_number(&world->db, QUARANTINED), 2);
}

TEST(an_account_that_was_moved_comes_back_once_the_network_shows_it_as_its_row_does)
{
    struct ingest_world *world = *state;
    ledger_row(&world->db, 1);
    put_accounts(world);
    test_db_execf(&world->db,
        "UPDATE fairway.channel_accounts SET state = 'quarantined',"
        " quarantine_reason = CASE slot WHEN %d THEN 'test' ELSE '" ACCOUNT_MOVED "' END"
        " WHERE state = 'active'",
        OTHER);
    close_ledgers(world, LATEST - FIRST - 1);
    const struct public_key frozen[] = {built_key(FROZEN)};
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = frozen, .frozen_count = 1});
    commit_up_to(world, LATEST + 1); /* which the RPC has not yet */
    start(world, 0);
    clock_sleep_ms(1000);
    assert_int_equal(test_db_number(&world->db, QUARANTINED), ACCOUNTS);
    close_ledgers(world, 1);
    await_number(world, QUARANTINED, 9);
    clock_sleep_ms(500);
    assert_int_equal(test_db_number(&world->db,
                         "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'quarantined' AND"
                         " slot NOT IN (2, 3, 4, 5, 6, 7, 8, 9, 206)"),
        0);
    assert_int_equal(test_db_number(&world->db, /* what a ledger proved */
                         "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active' AND"
                         " (sequence, sequence_ledger) <> (50, 100)"),
        0);
    test_db_execf(&world->db, /* who is before it does not bar it for ever */
        "UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = '" ACCOUNT_MOVED
        "', sequence = CASE WHEN public_key = (SELECT max(public_key) FROM fairway.channel_accounts"
        " WHERE state = 'active') THEN 50 ELSE 49 END WHERE state = 'active'");
    await_number(world, QUARANTINED, ACCOUNTS - 1);
}

/* Long before the first pass of a new leader, which begins after 15 s. */
TEST(an_upgrade_that_may_freeze_accounts_is_followed_by_a_read_at_once)
{
    struct ingest_world *world = *state;
    const struct public_key frozen = built_key(FROZEN);
    const int64_t begun_ms = clock_ms();
    account_row(&world->db, FROZEN, "active");
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = &frozen, .frozen_count = 1});
    await_number(world, QUARANTINED, 1);
    assert_true(quarantined(world, FROZEN, "froze"));
    assert_true(clock_ms() - begun_ms < 14000);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
