/*
 * A database that was restored or failed over, and may have forgotten leases (DR10). Each grant transaction
 * notices it, the leader puts grants on hold until no forgotten lease can be included any more, and forgotten
 * leases that are included meanwhile quarantine no account.
 */
#include "support/pool.h"

#include <stdlib.h>

#include "../../src/ingest/ledger_commit.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "pool/lease_lookup.h"
#include "slowness.h"
#include "support/ledger_envelopes.h"
#include "support/ledger_feed.h"
#include "support/pool_seed.h"
#include "support/take_lead.h"

#define ACCOUNTS 3
#define LEDGER_MS 5000
#define HELD_SECONDS (LEASE_SECONDS_MAX + 2 * grants_clock_slack_s(LEDGER_MS))

/* A pool, and a network whose first ledger the leader has committed. */
struct world {
    struct test_pool pool;
    struct ledger_feed *feed;
    struct lead lead;
    uint32_t next;
};

static struct rpc_ledger next_ledger(struct world *world)
{
    return ledger_feed_ledger(world->feed, world->next);
}

static enum err commit(struct world *world)
{
    struct ledger_committed committed;
    const struct rpc_ledger ledger = next_ledger(world);
    enum err e = commit_received(&world->lead, &ledger, &committed, NULL);
    world->next += e == ERR_OK;
    return e;
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    test_pool_open(&world->pool, ACCOUNTS);
    test_db_exec(&world->pool.test, "DELETE FROM fairway.cursor; DELETE FROM fairway.ledgers");
    world->next = POOL_SEED_LEDGER;
    world->feed = ledger_feed_new(world->next, 0);
    world->lead = (struct lead){.db = test_db_open(&world->pool.test),
        .network = world->pool.settings.network,
        .locks = lock_numbers_of(&world->pool.settings.network),
        .ledger_ms = LEDGER_MS};
    take_lead(&world->lead);
    assert_int_equal(commit(world), ERR_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    lead_free(&world->lead);
    ledger_feed_free(world->feed);
    test_pool_close(&world->pool);
    free(world);
    return 0;
}

static int64_t number(struct world *world, const char *sql)
{
    return test_db_number(&world->pool.test, sql);
}

static const char sql_held_until[] = "SELECT coalesce(held_until, 0) FROM fairway.cursor";
static const char sql_quarantined[] =
    "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'quarantined'";

/* Makes the cursor row look like that of another timeline, as after a promotion. */
static void go_back_in_time(struct world *world)
{
    test_db_exec(&world->pool.test, "UPDATE fairway.cursor SET timeline = timeline + 1");
}

static void take_again(struct world *world)
{
    lead_drop(&world->lead);
    take_lead(&world->lead);
}

/* Sets the end of the hold to this many seconds after the last close time. */
static void shorten_to(struct world *world, int seconds)
{
    AUTO_FREE char *sql = mem_format("UPDATE fairway.cursor SET held_until = close_time + %d", seconds);
    test_db_exec(&world->pool.test, sql);
}

/* Closes the next ledger, a second after the last one, and commits it. */
static void close_with(struct world *world, const struct built_ledger *what)
{
    ledger_feed_close(world->feed, what);
    assert_int_equal(commit(world), ERR_OK);
}

static void assert_suspended(struct world *world, const char *why)
{
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    ask(&world->pool, &asked);
    assert_int_equal(test_pool_grant(&world->pool, &asked, 1, &detail), ERR_GRANTS_SUSPENDED);
    if (strstr(detail.text, why) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", detail.text, why);
    assert_int_equal(leased_accounts(&world->pool), 0);
    assert_int_equal(number(world, "SELECT count(*) FROM fairway.leases WHERE client <> '*'"), 0);
}

static struct lease granted(struct world *world)
{
    struct asked asked;
    struct detail detail = {0};
    ask(&world->pool, &asked);
    enum err e = test_pool_grant(&world->pool, &asked, 1, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    struct lease lease = asked.grant.lease;
    buf_free(&lease.envelope);
    sample_wipe(&asked.sample);
    return lease;
}

TEST(DR10_the_hold_lasts_for_the_longest_lease_and_twice_the_clock_slack)
{
    struct world *world = *state;
    const int64_t now_s = number(world, "SELECT floor(extract(epoch FROM clock_timestamp()))::int8");
    go_back_in_time(world);
    take_again(world);
    const int64_t until_s = number(world, sql_held_until);
    assert_in_range(until_s, now_s + HELD_SECONDS, now_s + HELD_SECONDS + slower(5000) / 1000);
    assert_suspended(world, "on hold until");
    /* the next leader does not start it again */
    take_again(world);
    assert_int_equal(number(world, sql_held_until), until_s);
}

TEST(DR10_a_hold_ends_with_the_first_ledger_that_closed_after_it)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    shorten_to(world, 2);
    for (int ledgers = 0; ledgers < 2; ledgers++) { /* the second one closes in the last second of the hold */
        close_with(world, NULL);
        assert_suspended(world, "on hold until");
    }
    close_with(world, NULL);
    assert_int_equal(number(world, sql_held_until), 0);
    granted(world);
}

TEST(DR10_no_clock_ends_a_hold)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    shorten_to(world, -1); /* past for every clock, but no ledger has closed after it */
    assert_suspended(world, "on hold until");
}

TEST(DR10_sequence_numbers_that_forgotten_leases_consume_are_followed_and_the_next_lease_uses_the_next)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    shorten_to(world, 1);
    struct built_account accounts[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++)
        accounts[i] =
            (struct built_account){.key = world->pool.accounts[i], .sequence = POOL_SEED_SEQUENCE + 7};
    accounts[1].removed = true; /* a forgotten retirement */
    close_with(world, &(struct built_ledger){.accounts = accounts, .account_count = ACCOUNTS});
    assert_int_equal(number(world, sql_quarantined), 0);
    assert_int_equal(
        number(world, "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'retired'"), 1);
    close_with(world, NULL);
    for (size_t i = 0; i < ACCOUNTS - 1; i++)
        assert_int_equal(granted(world).sequence, POOL_SEED_SEQUENCE + 8);
}

TEST(DR10_changed_signers_quarantine_during_a_hold_too)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    const struct built_account account = {
        .key = world->pool.accounts[0], .sequence = POOL_SEED_SEQUENCE, .foreign_signer = true};
    close_with(world, &(struct built_ledger){.accounts = &account, .account_count = 1});
    assert_int_equal(number(world, sql_quarantined), 1);
}

TEST(DR10_after_the_hold_unknown_transactions_quarantine_again)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    shorten_to(world, 0);
    close_with(world, NULL);
    const struct built_account account = {.key = world->pool.accounts[0], .sequence = POOL_SEED_SEQUENCE + 1};
    close_with(world, &(struct built_ledger){.accounts = &account, .account_count = 1});
    assert_int_equal(number(world, sql_quarantined), 1);
}

/* Has these accounts consume their next sequence numbers: the first by a transaction that is bumped, the
 * others by plain ones. */
static void consume(struct world *world, size_t count)
{
    const struct built_transaction bumped = {.has_inner = true, .inner_hash = built_foreign(1)};
    struct built_account accounts[ACCOUNTS];
    for (size_t i = 0; i < count; i++)
        accounts[i] =
            (struct built_account){.key = world->pool.accounts[i], .sequence = POOL_SEED_SEQUENCE + 1};
    close_with(world,
        &(struct built_ledger){
            .transactions = &bumped, .transaction_count = 1, .accounts = accounts, .account_count = count});
}

/* From now on, the distribution account is the one that bumps transactions in built ledgers. */
static void pay_for_bumps(struct world *world)
{
    const struct public_key payer = ENVELOPE_FEE_SOURCE;
    char address[ADDRESS_SIZE];
    address_encode(&payer, address);
    AUTO_FREE char *sql = mem_format("UPDATE fairway.network SET distribution_account = '%s'", address);
    test_db_exec(&world->pool.test, sql);
}

TEST(DR10_a_bumped_transaction_of_no_lease_is_followed_and_puts_grants_on_hold)
{
    struct world *world = *state;
    pay_for_bumps(world);
    consume(world, 2);
    assert_int_equal(number(world, sql_quarantined), 0);
    assert_suspended(world, "set back");
    assert_true(number(world, "SELECT sequence - held_since FROM fairway.cursor") > 0);
    AUTO_ROWS rows = NULL;
    struct lease_lookup lookup = {.client = "anybody"};
    static const char sql[] = "SELECT hash, account FROM fairway.leases WHERE client = '*'";
    assert_int_equal(db_query(world->lead.db, DB_SQL0(sql), &rows, NULL), ERR_OK);
    assert_int_equal(db_count(rows), 1);
    db_copy(rows, 0, 0, lookup.hash.bytes, sizeof lookup.hash.bytes);
    assert_int_equal(lease_lookup(world->lead.db, &lookup, 1, NULL), ERR_OK);
    assert_true(lookup.found);
    assert_string_equal(lookup.status.status, "confirmed");
    assert_string_equal(lookup.status.result_code, "txSUCCESS");
    assert_int_equal(lookup.status.ledger, world->next - 1);
    assert_true(lookup.status.has_ledger_hash && lookup.status.result.len > 0);
    lease_status_free(&lookup.status);
    const int64_t until_s = number(world, sql_held_until);
    assert_true(number(world, "SELECT held_until - close_time FROM fairway.cursor") >= HELD_SECONDS - 5);
    close_with(world, NULL);
    assert_in_range(number(world, sql_held_until), until_s - 5, until_s);
    shorten_to(world, 0);
    close_with(world, NULL);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        const struct lease lease = granted(world);
        const bool used = !public_key_equal(&lease.account, &world->pool.accounts[2]);
        assert_int_equal(lease.sequence, POOL_SEED_SEQUENCE + 1 + used);
    }
}

TEST(DR10_a_transaction_that_another_account_has_bumped_is_foreign)
{
    struct world *world = *state;
    consume(world, 1);
    assert_int_equal(number(world, sql_quarantined), 1);
    assert_int_equal(number(world, sql_held_until), 0);
}

TEST(DR10_a_bumped_transaction_of_a_lease_puts_nothing_on_hold)
{
    struct world *world = *state;
    struct asked asked CLEANUP(asked_wipe);
    pay_for_bumps(world);
    ask(&world->pool, &asked);
    assert_int_equal(test_pool_grant(&world->pool, &asked, 1, NULL), ERR_OK);
    const struct lease *lease = &asked.grant.lease;
    const struct built_transaction bumped = {
        .has_inner = true, .inner_hash = lease->hash, .envelope = buf_bytes(&lease->envelope)};
    close_with(world, &(struct built_ledger){.transactions = &bumped, .transaction_count = 1});
    assert_int_equal(leased_accounts(&world->pool), 0);
    assert_int_equal(number(world, sql_quarantined), 0);
    assert_int_equal(number(world, sql_held_until), 0);
}

/* Until ingestion has put grants on hold. */
TEST(DR10_nothing_is_granted_in_a_database_behind_a_ledger_that_was_seen_in_it)
{
    struct world *world = *state;
    _Atomic uint32_t seen = POOL_SEED_LEDGER + 1;
    world->pool.settings.seen_ledger = &seen;
    assert_suspended(world, "set back");
    close_with(world, NULL);
    granted(world);
}

TEST(DR10_a_synchronous_failover_needs_no_hold)
{
    struct world *world = *state;
    world->lead.synchronous = true;
    go_back_in_time(world);
    assert_suspended(world, "restored or failed over");
    take_again(world);
    assert_int_equal(number(world, sql_held_until), 0);
    granted(world);
}

TEST(DR10_a_hold_by_hand_waits_for_grants_in_flight)
{
    struct world *world = *state;
    AUTO_ROWS rows = NULL;
    int64_t until_s;
    struct db *in_flight = test_db_open(&world->pool.test);
    assert_int_equal(db_begin(in_flight, NULL), ERR_OK);
    assert_int_equal(
        db_query(in_flight, DB_SQL0("SELECT pg_advisory_xact_lock_shared(hashtext('fairway grants'))"), &rows,
            NULL),
        ERR_OK);
    assert_int_equal(
        grants_hold_begin(world->pool.db, "copied", LEDGER_MS, &until_s, NULL), ERR_DATABASE_UNAVAILABLE);
    db_rollback(in_flight);
    db_free(in_flight);
    assert_int_equal(grants_hold_begin(world->pool.db, "copied", LEDGER_MS, &until_s, NULL), ERR_OK);
}

TEST(DR10_a_hold_counted_by_a_fast_clock_is_shortened_by_the_ledgers)
{
    struct world *world = *state;
    go_back_in_time(world);
    take_again(world);
    shorten_to(world, 86400);
    close_with(world, NULL);
    assert_int_equal(number(world, "SELECT held_until - close_time FROM fairway.cursor"), HELD_SECONDS);
    close_with(world, NULL);
    assert_int_equal(number(world, "SELECT held_until - close_time FROM fairway.cursor"), HELD_SECONDS - 1);
    assert_suspended(world, "on hold until");
}

TEST(DR10_a_leader_commits_nothing_into_another_database)
{
    struct world *world = *state;
    ledger_feed_close(world->feed, NULL);
    go_back_in_time(world);
    assert_int_equal(commit(world), ERR_NOT_LEADER);
    assert_int_equal(number(world, "SELECT sequence FROM fairway.cursor"), POOL_SEED_LEDGER);
    take_again(world);
    assert_int_equal(commit(world), ERR_OK);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
