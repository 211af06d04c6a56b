/*
 * A gap in the ledgers is made up for from what the network has now: every lease ends or waits, no account is
 * leased too early, none is lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "support/gap.h"

#define TX_SUCCESS 0
#define TX_FAILED (-1)

static int set_up(void **state)
{
    *state = gap_world_new();
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

static void recover(struct gap_world *world)
{
    if (gap_world_recover(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
}

static void follow(struct gap_world *world)
{
    if (gap_world_follow(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
}

/* Account n alone. */
static bool is(struct gap_world *world, unsigned n, const char *what)
{
    char address[ADDRESS_SIZE];
    struct public_key key = built_key(n);
    address_encode(&key, address);
    AUTO_FREE char *where = mem_format("a.public_key = '%s' AND %s", address, what);
    return gap_count(world, where) == 1;
}

#define IDLE "a.lease_hash IS NULL AND a.locked_at IS NULL AND a.locked_until IS NULL"

static void DR5_beyond_retention_what_was_consumed_ends_as_consumed_or_as_the_rpc_still_tells(void **state)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 4; n++)
        gap_leased(world, n);
    gap_close(world, 1, 51, BY_NOBODY); /* its transaction is forgotten */
    gap_close(world, 2, 51, TX_SUCCESS);
    gap_close(world, 3, 51, TX_FAILED);
    ledger_feed_remember(world->feed);
    gap_open(world, 10, 2);
    recover(world);
    assert_int_equal(gap_cursor(world), 113);
    assert_true(is(world, 1, "l.result = 'consumed' AND l.result_code IS NULL AND l.ledger = 113 AND " IDLE));
    assert_true(
        is(world, 2, "l.result = 'confirmed' AND l.result_code = 'txSUCCESS' AND l.ledger = 102 AND " IDLE));
    assert_true(
        is(world, 3, "l.result = 'failed' AND l.result_code = 'txFAILED' AND l.ledger = 103 AND " IDLE));
    assert_int_equal(
        gap_count(world, "a.state = 'active' AND a.sequence = 51 AND a.sequence_ledger = 113"), 3);
    assert_true(is(world, 4, "l.settled_at IS NULL AND a.lease_hash = l.hash AND a.sequence = 50"));
    assert_int_equal(world->settled.released, 3);
    assert_true(gap_grants_allowed(world));
}

static void DR5_beyond_retention_what_was_not_consumed_expires_when_it_is_dead_and_waits_until_then(
    void **state)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 5; n++)
        gap_leased(world, n);
    gap_open(world, 10, 2);
    test_db_execf(&world->db,
        "UPDATE fairway.leases SET max_time = (SELECT close_time + 10 FROM fairway.cursor)"
        " WHERE account = (SELECT public_key FROM fairway.channel_accounts WHERE slot = 1);"
        "UPDATE fairway.leases SET max_time = (SELECT close_time + 9 FROM fairway.cursor)"
        " WHERE account = (SELECT public_key FROM fairway.channel_accounts WHERE slot = 2);"
        "UPDATE fairway.leases SET max_ledger = 112"
        " WHERE account = (SELECT public_key FROM fairway.channel_accounts WHERE slot = 3);"
        "UPDATE fairway.leases SET max_ledger = 111"
        " WHERE account = (SELECT public_key FROM fairway.channel_accounts WHERE slot = 4);");
    recover(world); /* ledger 110 closed 10 s after 100 */
    assert_int_equal(gap_cursor(world), 110);
    assert_true(is(world, 1, "l.settled_at IS NULL AND a.lease_hash = l.hash")); /* a ledger of that second */
    assert_true(is(world, 2, "l.result = 'expired' AND l.ledger = 110 AND " IDLE));
    assert_true(is(world, 3, "l.settled_at IS NULL AND a.lease_hash = l.hash")); /* 111 may have it */
    assert_true(is(world, 4, "l.result = 'expired' AND " IDLE));
    assert_true(is(world, 5, "l.settled_at IS NULL AND a.lease_hash = l.hash"));
    assert_int_equal(gap_count(world, "a.sequence = 50 AND a.sequence_ledger = 110"), 5);
    /* live ingestion ends the rest: one is included late, one expires, one more by its ledger bound */
    gap_close(world, 5, 51, TX_SUCCESS);
    follow(world);
    assert_true(is(world, 5, "l.result = 'confirmed' AND l.ledger = 111 AND " IDLE));
    assert_true(is(world, 1, "l.result = 'expired' AND " IDLE));
    assert_true(is(world, 3, "l.result = 'expired' AND " IDLE));
    assert_int_equal(gap_count(world, "a.lease_hash IS NOT NULL"), 0);
}

static void DR5_P7_P8_accounts_that_changed_in_the_gap_come_out_as_they_are(void **state)
{
    struct gap_world *world = *state;
    static const char *const states[] = {
        "active", "active", "active", "active", "retiring", "creating", "creating", "active", "quarantined"};
    for (unsigned i = 0; i < ARRAY_LEN(states); i++)
        gap_account(world, i + 1, states[i]);
    lease_row(&world->db, 2, "", 0);
    lease_row(&world->db, 3, "", 0);
    gap_close(world, 1, 55, BY_NOBODY); /* idle, and used by others */
    gap_close(world, 2, 53, BY_NOBODY); /* leased, and used beyond what was signed */
    const struct built_account changed[] = {{.key = built_key(3), .removed = true},
        {.key = built_key(4), .sequence = 50, .foreign_signer = true}, {.key = built_key(5), .removed = true},
        {.key = built_key(6), .sequence = (int64_t)104 << 32, .created = true}};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = changed, .account_count = 4});
    gap_open(world, 7, 1);
    recover(world);
    assert_true(is(world, 1, "a.state = 'quarantined' AND a.quarantine_reason LIKE '%did not sign%'"));
    assert_true(is(world, 2, "a.state = 'quarantined' AND l.result = 'consumed' AND " IDLE));
    assert_true(is(world, 3,
        "a.state = 'quarantined' AND a.quarantine_reason = 'it is missing on the network'"
        " AND l.result = 'consumed' AND " IDLE));
    assert_true(is(world, 4, "a.state = 'quarantined' AND a.quarantine_reason LIKE '%signers%'"));
    assert_true(is(world, 5, "a.state = 'retired' AND a.slot IS NULL"));
    assert_true(is(world, 6, "a.state = 'active' AND a.sequence = 104::int8 << 32"));
    assert_true(is(world, 7, "a.state = 'creating' AND a.sequence IS NULL"));
    assert_true(is(world, 8, "a.state = 'active' AND a.sequence = 50 AND a.sequence_ledger = 110"));
    assert_true(is(world, 9, "a.state = 'quarantined' AND a.quarantine_reason = 'its signers changed'"));
    assert_int_equal(world->settled.created, 1);
    assert_int_equal(world->settled.retired, 1);
    assert_int_equal(world->settled.quarantined, 4);
}

static void DR5_an_account_that_was_frozen_in_the_gap_is_quarantined(void **state)
{
    struct gap_world *world = *state;
    struct public_key frozen = built_key(2);
    gap_account(world, 1, "active");
    gap_account(world, 2, "active");
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = &frozen, .frozen_count = 1});
    gap_open(world, 8, 1);
    recover(world);
    assert_true(is(world, 1, "a.state = 'active'"));
    assert_true(is(world, 2, "a.state = 'quarantined' AND a.quarantine_reason = 'the network froze it'"));
}

/* More accounts than one call takes, answered by nodes that are apart: what the ledgers between the new
 * cursor and a read did counts once. */
static void DR5_P10_nodes_that_are_apart_make_nothing_count_twice(void **state)
{
    struct gap_world *world = *state;
    static const unsigned lags[] = {0, 3, 1};
    const unsigned last = RPC_ENTRIES_MAX + 5;
    for (unsigned n = 1; n <= last; n++)
        gap_account(world, n, "active");
    for (unsigned n = 1; n <= last; n += 20)
        lease_row(&world->db, n, "", 0);
    gap_open(world, 4, 1);
    for (unsigned n = 1; n <= 61; n += 20)
        gap_close(world, n, 51, TX_SUCCESS);
    gap_close(world, 201, 51, TX_SUCCESS); /* of the five last ledgers the last, behind what its reader has */
    ledger_feed_lag(world->feed, lags, ARRAY_LEN(lags));
    ledger_feed_forget_below(world->feed, 105);
    recover(world);
    assert_int_equal(gap_cursor(world), 106); /* the slowest node's */
    assert_int_equal(gap_count(world, "a.sequence_ledger > 106"), RPC_ENTRIES_MAX);
    assert_int_equal(gap_count(world, "l.result = 'confirmed' AND l.ledger BETWEEN 105 AND 108"), 4);
    int64_t settled = gap_count(world, "l.settled_at IS NOT NULL");
    for (uint32_t ledger = 107; ledger <= 109; ledger++) {
        follow(world);
        assert_int_equal(world->settled.released, ledger == 109);
        assert_int_equal(world->settled.quarantined, 0);
    }
    assert_int_equal(gap_count(world, "l.settled_at IS NOT NULL"), settled + 1);
    assert_true(is(world, 201, "l.result = 'confirmed' AND l.ledger = 109"));
    assert_int_equal(gap_count(world, "a.state = 'active'"), last);
    gap_close(world, 101, 51, TX_SUCCESS);
    follow(world);
    assert_int_equal(world->settled.confirmed, 1);
}

static void DR4_grants_resume_with_the_recovery_unless_somebody_else_stopped_them(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "active");
    gap_open(world, 10, 1);
    assert_int_equal(grants_stop_for_gap(world->lead.db, world->lead.term, NULL), ERR_OK);
    assert_false(gap_grants_allowed(world));
    recover(world);
    assert_true(gap_grants_allowed(world));
    test_db_exec(&world->db, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'another'");
    gap_open(world, 10, 1);
    recover(world);
    assert_int_equal(gap_cursor(world), 120);
    assert_false(gap_grants_allowed(world));
}

static void DR10_a_quarantined_account_that_is_gone_does_not_stop_a_recovery_during_a_hold(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "active");
    gap_account(world, 2, "active");
    const struct built_account gone = {.key = built_key(1), .removed = true};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = &gone, .account_count = 1});
    follow(world);
    assert_true(is(world, 1, "a.state = 'quarantined'"));
    test_db_exec(
        &world->db, "UPDATE fairway.cursor SET held_until = close_time + 1000, hold_reason = 'test'");
    gap_open(world, 10, 1);
    recover(world);
    assert_true(is(world, 1, "a.state = 'retired' AND a.quarantine_reason IS NULL"));
}

static void an_empty_pool_recovers_too(void **state)
{
    struct gap_world *world = *state;
    gap_open(world, 10, 1);
    recover(world);
    assert_int_equal(gap_cursor(world), 110);
    assert_int_equal(world->lead.at.sequence, 110);
    ledger_feed_close(world->feed, NULL);
    follow(world);
}

/* As many accounts as one is meant to have at most, within the time that a statement may take. */
static void DR5_a_large_pool_recovers_in_one_transaction(void **state)
{
    struct gap_world *world = *state;
    const char *size = getenv("FAIRWAY_SIZE");
    const unsigned count = size != NULL && strcmp(size, "long") == 0 ? 20000 : 2000;
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(count, struct built_account);
    gap_leased_many(world, count);
    for (unsigned i = 0; i < count; i++)
        accounts[i] = (struct built_account){.key = built_key(i + 1), .sequence = 51};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = accounts, .account_count = count});
    gap_open(world, 8, 1);
    int64_t begun_ms = clock_ms();
    recover(world);
    print_message("%u leases behind a gap: %d ms\n", count, (int)(clock_ms() - begun_ms));
    assert_int_equal(
        gap_count(world, "l.result = 'consumed' AND a.lease_hash IS NULL AND a.sequence = 51"), count);
}

/* A database that went back in time and finds a gap: what it forgot is nobody's fault, and it goes on
 * waiting. */
static void DR10_a_recovery_during_a_hold_quarantines_nothing_and_ends_it_no_earlier(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "active");
    gap_account(world, 2, "active");
    gap_account(world, 3, "active");
    const struct built_account gone = {.key = built_key(2), .removed = true};
    gap_close(world, 1, 55, BY_NOBODY);
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = &gone, .account_count = 1});
    gap_open(world, 8, 1);
    test_db_exec(&world->db, "UPDATE fairway.cursor SET hold_reason = 'restored', held_until = 4000000000");
    recover(world);
    assert_true(is(world, 1, "a.state = 'active' AND a.sequence = 55 AND a.sequence_ledger = 110"));
    assert_true(is(world, 2, "a.state = 'retired'"));
    assert_int_equal(world->settled.quarantined, 0);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.cursor"
                                                " WHERE held_until >= 4000000000 AND grants_allowed"),
        1);
}

/* What ensure-accounts has under way: a creation of account 1 by built_key(1000), which uses sequence 7. */
static void ship(struct gap_world *world, const char *kind, uint64_t hash, uint64_t max_time_s)
{
    char source[ADDRESS_SIZE], account[ADDRESS_SIZE], hex[HASH_HEX_SIZE];
    struct public_key distribution = built_key(1000), key = built_key(1);
    struct hash shipped = built_hash(hash);
    address_encode(&distribution, source);
    address_encode(&key, account);
    hash_encode(&shipped, hex);
    test_db_execf(&world->db,
        "INSERT INTO fairway.network (passphrase, distribution_account) VALUES ('" GAP_NETWORK "', '%s')"
        " ON CONFLICT DO NOTHING;"
        "INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, sequence, max_time)"
        " VALUES ('%s', '{%s}', '\\x%s', '', 7, %llu)",
        source, kind, account, hex, (unsigned long long)max_time_s);
    ledger_feed_put(world->feed, &(struct built_account){.key = distribution, .sequence = 6});
}

static bool shipped(struct gap_world *world, const char *what)
{
    AUTO_FREE char *sql = mem_format("SELECT count(*) FROM fairway.provisioning WHERE %s", what);
    return test_db_number(&world->db, sql) == 1;
}

static void a_provisioning_transaction_that_the_rpc_still_knows_has_its_result(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "creating");
    ship(world, "creation", 900, UINT32_MAX);
    const struct built_transaction transaction = {.hash = built_hash(900), .code = TX_FAILED};
    const struct built_account source = {.key = built_key(1000), .sequence = 7};
    ledger_feed_close(world->feed,
        &(struct built_ledger){
            .transactions = &transaction, .transaction_count = 1, .accounts = &source, .account_count = 1});
    ledger_feed_remember(world->feed);
    gap_open(world, 9, 1);
    recover(world);
    assert_true(shipped(world, "state = 'failed' AND result_code = 'txFAILED' AND ledger = 110"));
    assert_true(is(world, 1, "a.state = 'creating'"));
}

static void a_forgotten_provisioning_transaction_succeeded_if_its_accounts_say_so(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "creating");
    ship(world, "creation", 900, UINT32_MAX);
    const struct built_account changed[] = {
        {.key = built_key(1), .sequence = 1, .created = true}, {.key = built_key(1000), .sequence = 7}};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = changed, .account_count = 2});
    gap_open(world, 9, 1);
    recover(world);
    assert_true(shipped(world, "state = 'succeeded' AND result_code = 'txSUCCESS'"));
    assert_true(is(world, 1, "a.state = 'active'"));
}

static void a_forgotten_provisioning_transaction_whose_sequence_went_elsewhere_is_superseded(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "retiring");
    ship(world, "merge", 900, UINT32_MAX);
    gap_close(world, 1000, 7, BY_NOBODY);
    gap_open(world, 9, 1);
    recover(world);
    assert_true(shipped(world, "state = 'superseded'"));
    assert_true(is(world, 1, "a.state = 'retiring'"));
}

static void an_unused_provisioning_transaction_expires_by_the_new_cursor_or_waits(void **state)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "creating");
    ship(world, "creation", 900, 1);
    gap_open(world, 10, 1);
    recover(world);
    assert_true(shipped(world, "state = 'expired'"));
    ship(world, "creation", 901, UINT32_MAX);
    gap_open(world, 10, 1);
    recover(world);
    assert_true(shipped(world, "state = 'pending'"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(DR5_beyond_retention_what_was_consumed_ends_as_consumed_or_as_the_rpc_still_tells),
        TEST(DR5_beyond_retention_what_was_not_consumed_expires_when_it_is_dead_and_waits_until_then),
        TEST(DR5_P7_P8_accounts_that_changed_in_the_gap_come_out_as_they_are),
        TEST(DR5_an_account_that_was_frozen_in_the_gap_is_quarantined),
        TEST(DR5_P10_nodes_that_are_apart_make_nothing_count_twice),
        TEST(DR4_grants_resume_with_the_recovery_unless_somebody_else_stopped_them),
        TEST(DR5_a_large_pool_recovers_in_one_transaction),
        TEST(DR10_a_recovery_during_a_hold_quarantines_nothing_and_ends_it_no_earlier),
        TEST(DR10_a_quarantined_account_that_is_gone_does_not_stop_a_recovery_during_a_hold),
        TEST(an_empty_pool_recovers_too),
        TEST(a_provisioning_transaction_that_the_rpc_still_knows_has_its_result),
        TEST(a_forgotten_provisioning_transaction_succeeded_if_its_accounts_say_so),
        TEST(a_forgotten_provisioning_transaction_whose_sequence_went_elsewhere_is_superseded),
        TEST(an_unused_provisioning_transaction_expires_by_the_new_cursor_or_waits),
    };
    return cmocka_run_group_tests_name("gap", tests, test_pg_start, test_pg_stop);
}
