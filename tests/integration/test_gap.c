/*
 * Recovery from a gap by what the network shows afterwards: every lease is settled or stays open, no account
 * is leased too early, and none is lost.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "pool/lease_lookup.h"
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

/* Whether account a and lease l of account n satisfy this SQL condition. */
static bool is(struct gap_world *world, unsigned n, const char *what)
{
    char address[ADDRESS_SIZE];
    struct public_key key = built_key(n);
    address_encode(&key, address);
    AUTO_FREE char *where = mem_format("a.public_key = '%s' AND %s", address, what);
    return gap_count(world, where) == 1;
}

#define IDLE "a.lease_hash IS NULL AND a.locked_at IS NULL"

/* How many leases a client reads that has read all ends up to this ledger. */
static size_t ends_after(struct gap_world *world, int64_t ledger)
{
    struct lease_list list CLEANUP(lease_list_free) = {0};
    struct db *db = test_db_open(&world->db);
    enum err e = lease_list_read(db, "", LEASE_ENDS(ledger), 100, &list, NULL);
    db_free(db);
    assert_int_equal(e, ERR_OK);
    return list.count;
}

TEST(DR5_a_lease_consumed_in_the_gap_settles_by_its_result_or_as_consumed)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 4; n++)
        gap_leased(world, n);
    gap_close_ledger(world, 1, 51, BY_NOBODY); /* the RPC does not find its transaction */
    gap_close_ledger(world, 2, 51, TX_SUCCESS);
    gap_close_ledger(world, 3, 51, TX_FAILED);
    ledger_feed_keep_transactions(world->feed);
    gap_drop_ledgers(world, 10, 2);
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
    assert_int_equal(ends_after(world, 100), 3);
    assert_int_equal(ends_after(world, 112), 3); /* the ledger that ended them, not those that have them */
    assert_int_equal(ends_after(world, 113), 0);
}

TEST(DR5_a_lease_not_consumed_in_the_gap_expires_once_no_ledger_can_include_it)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 5; n++)
        gap_leased(world, n);
    gap_drop_ledgers(world, 10, 2);
    test_db_execf(&world->db,
        TEST_CHANGE_LEASES("max_time = (SELECT close_time + 10 FROM fairway.cursor) WHERE account = (SELECT "
                           "public_key FROM fairway.channel_accounts WHERE slot = 1)")
            TEST_CHANGE_LEASES("max_time = (SELECT close_time + 9 FROM fairway.cursor) WHERE account = "
                               "(SELECT public_key FROM fairway.channel_accounts WHERE slot = 2)")
                TEST_CHANGE_LEASES("max_ledger = 112 WHERE account = (SELECT public_key FROM "
                                   "fairway.channel_accounts WHERE slot = 3)")
                    TEST_CHANGE_LEASES("max_ledger = 111 WHERE account = (SELECT public_key FROM "
                                       "fairway.channel_accounts WHERE slot = 4)"));
    recover(world); /* ledger 110 closed 10 s after 100 */
    assert_int_equal(gap_cursor(world), 110);
    assert_true(is(world, 1,
        "l.settled_at IS NULL AND a.lease_hash = l.hash")); /* a later ledger may close in the same second */
    assert_true(is(world, 2, "l.result = 'expired' AND l.ledger = 110 AND " IDLE));
    assert_true(
        is(world, 3, "l.settled_at IS NULL AND a.lease_hash = l.hash")); /* ledger 111 may include it */
    assert_true(is(world, 4, "l.result = 'expired' AND " IDLE));
    assert_true(is(world, 5, "l.settled_at IS NULL AND a.lease_hash = l.hash"));
    assert_int_equal(gap_count(world, "a.sequence = 50 AND a.sequence_ledger = 110"), 5);
    /* the next ledger settles the rest: one is included, one expires, one expires by its ledger bound */
    gap_close_ledger(world, 5, 51, TX_SUCCESS);
    follow(world);
    assert_true(is(world, 5, "l.result = 'confirmed' AND l.ledger = 111 AND " IDLE));
    assert_true(is(world, 1, "l.result = 'expired' AND " IDLE));
    assert_true(is(world, 3, "l.result = 'expired' AND " IDLE));
    assert_int_equal(gap_count(world, "a.lease_hash IS NOT NULL"), 0);
}

/* An operator has released the accounts since: their rows are newer than the reads. */
TEST(DR5_a_lease_consumed_in_the_gap_ends_as_consumed_when_its_account_was_released)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 4; n++)
        gap_leased(world, n);
    gap_close_ledger(world, 1, 51, BY_NOBODY);
    gap_close_ledger(world, 2, 51, TX_SUCCESS);
    const struct built_account gone = {.key = built_key(4), .removed = true};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = &gone, .account_count = 1});
    ledger_feed_keep_transactions(world->feed);
    gap_drop_ledgers(world, 10, 2);
    test_db_exec(&world->db, "UPDATE fairway.channel_accounts SET sequence = 51, sequence_ledger = 120");
    recover(world);
    assert_int_equal(gap_cursor(world), 113);
    assert_true(is(world, 1, "l.result = 'consumed' AND l.ledger = 113 AND " IDLE));
    assert_true(is(world, 2, "l.result = 'confirmed' AND l.ledger = 102 AND " IDLE));
    assert_true(is(world, 3, "l.settled_at IS NULL AND a.lease_hash = l.hash"));
    assert_true(is(world, 4, "l.settled_at IS NULL AND a.lease_hash = l.hash"));
    assert_int_equal(
        gap_count(world, "a.state = 'active' AND a.sequence = 51 AND a.sequence_ledger = 120"), 4);
}

TEST(DR5_accounts_that_changed_in_the_gap_get_the_networks_state)
{
    struct gap_world *world = *state;
    static const char *const states[] = {
        "active", "active", "active", "active", "retiring", "creating", "creating", "active", "quarantined"};
    for (unsigned i = 0; i < ARRAY_LEN(states); i++)
        gap_account(world, i + 1, states[i]);
    lease_row(&world->db, 2, "", 0);
    lease_row(&world->db, 3, "", 0);
    gap_close_ledger(world, 1, 55, BY_NOBODY); /* idle, and used by somebody else */
    gap_close_ledger(world, 2, 53, BY_NOBODY); /* leased, and used for more than the lease */
    const struct built_account changed[] = {{.key = built_key(3), .removed = true},
        {.key = built_key(4), .sequence = 50, .foreign_signer = true}, {.key = built_key(5), .removed = true},
        {.key = built_key(6), .sequence = (int64_t)104 << 32, .created = true}};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = changed, .account_count = 4});
    gap_drop_ledgers(world, 7, 1);
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

TEST(DR5_an_account_that_was_frozen_in_the_gap_is_quarantined)
{
    struct gap_world *world = *state;
    struct public_key frozen = built_key(2);
    gap_account(world, 1, "active");
    gap_account(world, 2, "active");
    ledger_feed_close(world->feed, &(struct built_ledger){.frozen = &frozen, .frozen_count = 1});
    gap_drop_ledgers(world, 8, 1);
    recover(world);
    assert_true(is(world, 1, "a.state = 'active'"));
    assert_true(is(world, 2, "a.state = 'quarantined' AND a.quarantine_reason = 'the network froze it'"));
}

/* More accounts than one request may name, read from nodes at different ledgers. What the ledgers between the
 * new cursor and a read did counts once. */
TEST(DR5_reads_from_nodes_at_different_ledgers_count_nothing_twice)
{
    struct gap_world *world = *state;
    static const unsigned lags[] = {0, 3, 1};
    const unsigned last = RPC_ENTRIES_MAX + 5;
    for (unsigned n = 1; n <= last; n++)
        gap_account(world, n, "active");
    for (unsigned n = 1; n <= last; n += 20)
        lease_row(&world->db, n, "", 0);
    gap_drop_ledgers(world, 4, 1);
    for (unsigned n = 1; n <= 61; n += 20)
        gap_close_ledger(world, n, 51, TX_SUCCESS);
    gap_close_ledger(
        world, 201, 51, TX_SUCCESS); /* in the last ledger, which the node that reads it does not have */
    ledger_feed_lag(world->feed, lags, ARRAY_LEN(lags));
    ledger_feed_drop_below(world->feed, 105);
    recover(world);
    assert_int_equal(gap_cursor(world), 106); /* of the node that lags most */
    assert_int_equal(gap_count(world, "a.sequence_ledger > 106"), RPC_ENTRIES_MAX);
    assert_int_equal(gap_count(world, "l.result = 'confirmed' AND l.ledger BETWEEN 105 AND 108"
                                      " AND l.fee_charged = 100 AND l.ledger_hash IS NULL"),
        4);
    int64_t settled = gap_count(world, "l.settled_at IS NOT NULL");
    for (uint32_t ledger = 107; ledger <= 109; ledger++) {
        follow(world);
        assert_int_equal(world->settled.released, ledger == 109);
        assert_int_equal(world->settled.quarantined, 0);
    }
    assert_int_equal(gap_count(world, "l.settled_at IS NOT NULL"), settled + 1);
    assert_true(is(world, 201, "l.result = 'confirmed' AND l.ledger = 109"));
    assert_int_equal(gap_count(world, "a.state = 'active'"), last);
    gap_close_ledger(world, 101, 51, TX_SUCCESS);
    follow(world);
    assert_int_equal(world->settled.confirmed, 1);
}

TEST(DR4_grants_resume_with_the_recovery_unless_they_were_stopped_for_another_reason)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "active");
    gap_drop_ledgers(world, 10, 1);
    assert_int_equal(grants_stop_for_gap(world->lead.db, world->lead.term, NULL), ERR_OK);
    assert_false(gap_grants_allowed(world));
    recover(world);
    assert_true(gap_grants_allowed(world));
    test_db_exec(&world->db, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'another'");
    gap_drop_ledgers(world, 10, 1);
    recover(world);
    assert_int_equal(gap_cursor(world), 120);
    assert_false(gap_grants_allowed(world));
}

TEST(DR10_a_quarantined_account_that_is_gone_does_not_stop_a_recovery_during_a_hold)
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
    gap_drop_ledgers(world, 10, 1);
    recover(world);
    assert_true(is(world, 1, "a.state = 'retired' AND a.quarantine_reason IS NULL"));
}

TEST(an_empty_pool_recovers_too)
{
    struct gap_world *world = *state;
    gap_drop_ledgers(world, 10, 1);
    recover(world);
    assert_int_equal(gap_cursor(world), 110);
    assert_int_equal(world->lead.cursor.sequence, 110);
    ledger_feed_close(world->feed, NULL);
    follow(world);
}

/* With the largest supported pool, no statement reaches its timeout. */
TEST(DR5_a_large_pool_recovers_in_one_transaction)
{
    struct gap_world *world = *state;
    const char *size = getenv("FAIRWAY_SIZE");
    const unsigned count = size != NULL && strcmp(size, "long") == 0 ? 20000 : 2000;
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(count, struct built_account);
    gap_leased_many(world, count);
    for (unsigned i = 0; i < count; i++)
        accounts[i] = (struct built_account){.key = built_key(i + 1), .sequence = 51};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = accounts, .account_count = count});
    gap_drop_ledgers(world, 8, 1);
    int64_t begun_ms = clock_ms();
    recover(world);
    print_message("%u leases after a gap: %d ms\n", count, (int)(clock_ms() - begun_ms));
    assert_int_equal(
        gap_count(world, "l.result = 'consumed' AND a.lease_hash IS NULL AND a.sequence = 51"), count);
}

/* A restored database with a gap: leases that it has forgotten quarantine no account, and the hold goes on.
 */
TEST(DR10_a_recovery_during_a_hold_quarantines_nothing_and_ends_it_no_earlier)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "active");
    gap_account(world, 2, "active");
    gap_account(world, 3, "active");
    const struct built_account gone = {.key = built_key(2), .removed = true};
    gap_close_ledger(world, 1, 55, BY_NOBODY);
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = &gone, .account_count = 1});
    gap_drop_ledgers(world, 8, 1);
    test_db_exec(&world->db, "UPDATE fairway.cursor SET hold_reason = 'restored', held_until = 4000000000");
    recover(world);
    assert_true(is(world, 1, "a.state = 'active' AND a.sequence = 55 AND a.sequence_ledger = 110"));
    assert_true(is(world, 2, "a.state = 'retired'"));
    assert_int_equal(world->settled.quarantined, 0);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.cursor"
                                                " WHERE held_until >= 4000000000 AND grants_allowed"),
        1);
}

static bool provisioning_is(struct gap_world *world, const char *what)
{
    AUTO_FREE char *sql = mem_format("SELECT count(*) FROM fairway.provisioning WHERE %s", what);
    return test_db_number(&world->db, sql) == 1;
}

/* getTransaction is of one RPC; the accounts are compared with others. */
TEST(a_result_of_a_provisioning_transaction_that_the_accounts_contradict_is_not_believed)
{
    struct gap_world *world = *state;
    gap_account(world, 1, "creating");
    const struct built_transaction transaction = {.hash = built_hash(900)};
    const struct built_account unchanged = {.key = built_key(1000), .sequence = 6};
    provisioning_row(&world->db, "creation", 900, UINT32_MAX);
    ledger_feed_put(world->feed, &(struct built_account){.key = built_key(1000), .sequence = 6});
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = &transaction,
                                       .transaction_count = 1,
                                       .accounts = &unchanged,
                                       .account_count = 1});
    ledger_feed_keep_transactions(world->feed);
    gap_drop_ledgers(world, 9, 1);
    assert_int_equal(gap_world_recover(world), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(world->detail.text, "contradicts the sequence number of its source"));
    assert_true(provisioning_is(world, "state = 'pending'"));
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
