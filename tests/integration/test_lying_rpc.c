/*
 * What the metadata of a ledger claims about accounts is covered by no hash. Whatever an RPC invents there,
 * no live lease ends, no account is released, and nothing is quarantined unless a read of the account
 * confirms it.
 */
#include "check.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/gap.h"
#include "slowness.h"

enum {
    LEASED = 1,
    IDLE,
    RETIRING,
    CREATING,
    ACCOUNTS = CREATING
};

static int set_up(void **state)
{
    struct gap_world *world = gap_world_new();
    gap_leased(world, LEASED);
    gap_account(world, IDLE, "active");
    gap_account(world, RETIRING, "retiring");
    gap_account(world, CREATING, "creating");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

/* A lie about one account, or the truth. */
static const struct lie {
    const char *what;
    struct built_account claim; /* key is not used */
    bool frozen;
} lies[] = {
    {"a sequence number above", {.sequence = 60}, false},
    {"the lease's sequence number", {.sequence = 51}, false},
    {"a sequence number below", {.sequence = 49}, false},
    {"another signer", {.sequence = 50, .foreign_signer = true}, false},
    {"a removal", {.removed = true}, false},
    {"a creation", {.sequence = (int64_t)101 << 32, .created = true}, false},
    {"a frozen key", {.sequence = 50}, true},
};

static void close_with(struct gap_world *world, const struct lie *lie, bool invented)
{
    struct built_account claims[ACCOUNTS];
    struct public_key frozen[ACCOUNTS];
    for (unsigned n = 1; n <= ACCOUNTS; n++) {
        claims[n - 1] = lie->claim;
        claims[n - 1].key = frozen[n - 1] = built_key(n);
        claims[n - 1].invented = invented;
    }
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = claims,
                                       .account_count = lie->frozen ? 0 : ACCOUNTS,
                                       .frozen = frozen,
                                       .frozen_count = lie->frozen ? ACCOUNTS : 0,
                                       .frozen_invented = invented});
}

static void assert_unchanged(struct gap_world *world, const struct lie *lie)
{
    const int64_t leases = gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"),
                  idle = gap_count(world, "a.state = 'active' AND a.sequence = 50 AND a.lease_hash IS NULL"),
                  retiring = gap_count(world, "a.state = 'retiring' AND a.sequence = 50"),
                  creating = gap_count(world, "a.state = 'creating' AND a.sequence IS NULL");
    if (leases != 1 || idle != 1 || retiring != 1 || creating != 1)
        fail_msg("%s changed something", lie->what);
}

static void an_invented_change_of_an_account_costs_a_read_and_changes_nothing(void **state)
{
    struct gap_world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        const unsigned before = ledger_feed_requests(world->feed);
        close_with(world, &lies[i], true);
        if (gap_world_follow(world) != ERR_OK)
            fail_msg("%s: %s", lies[i].what, world->detail.text);
        assert_int_equal(world->settled.quarantined + world->settled.released, 0);
        assert_in_range(ledger_feed_requests(world->feed) - before, 1, 2);
        assert_unchanged(world, &lies[i]);
    }
}

static void a_change_that_cannot_be_read_stops_ingestion_and_changes_nothing(void **state)
{
    struct gap_world *world = *state;
    const unsigned lagging = 1, current = 0;
    close_with(world, &lies[0], true);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    assert_int_equal(gap_world_follow(world), ERR_RPC_UNAVAILABLE);
    ledger_feed_fail(world->feed, ERR_OK);
    ledger_feed_lag(world->feed, &lagging, 1);
    assert_int_equal(gap_world_follow(world), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(world->detail.text, "as of ledger 100"));
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
    assert_unchanged(world, &lies[0]);
    ledger_feed_lag(world->feed, &current, 1);
    assert_int_equal(gap_world_follow(world), ERR_OK);
    assert_unchanged(world, &lies[0]);
}

static void accounts_are_unread(struct gap_world *world)
{
    assert_int_equal(gap_count(world, "a.slot IN (1, 2) AND a.state = 'quarantined' AND a.sequence = 50"
                                      " AND a.quarantine_reason LIKE '%no RPC has confirmed yet'"),
        2);
    assert_int_equal(gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 1);
    assert_int_equal(gap_count(world, "a.state = 'retiring' AND a.sequence = 50"), 1);
    assert_int_equal(gap_count(world, "a.state = 'creating' AND a.sequence IS NULL"), 1);
}

/* Commits the next ledger although no read succeeds; before, the cursor stays. */
static void give_up(struct gap_world *world)
{
    const int64_t cursor = gap_cursor(world), end_ms = clock_ms() + slower(60000);
    enum err e = gap_world_follow(world);
    for (; e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED; e = gap_world_follow(world)) {
        assert_int_equal(gap_cursor(world), cursor);
        assert_true(clock_left_ms(end_ms) > 0);
        clock_sleep_ms(20);
    }
    if (e != ERR_OK)
        fail_msg("%s", world->detail.text);
    assert_int_equal(gap_cursor(world), cursor + 1);
    assert_int_equal(world->settled.released, 0);
}

/* Commits empty ledgers until the unread accounts have been read, which is due at once. */
static void read_again(struct gap_world *world)
{
    ledger_feed_close(world->feed, NULL);
    if (gap_world_follow(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
}

/* An RPC without getLedgerEntries, or one that always lags, that invents an entry. Its accounts are not
 * leased, because the entry may be true; as soon as a read shows that it is not, they are as before. */
static void accounts_with_claims_that_cannot_be_read_are_not_leased_until_they_are_read(void **state)
{
    struct gap_world *world = *state;
    const struct lie *const claims[] = {&lies[0], &lies[3], &lies[4], &lies[6]};
    static const enum err errors[] = {ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED};
    const unsigned lagging = 4, current = 0;
    ledger_feed_give_up(world->feed, 300, 0);
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        for (size_t how = 0; how <= ARRAY_LEN(errors); how++) {
            if (how < ARRAY_LEN(errors))
                ledger_feed_fail(world->feed, errors[how]);
            else
                ledger_feed_lag(world->feed, &lagging, 1);
            close_with(world, claims[i], true);
            give_up(world);
            assert_int_equal(world->settled.quarantined, 2);
            accounts_are_unread(world);
            ledger_feed_close(world->feed, NULL);
            give_up(world); /* the attempt to read them again fails too */
            accounts_are_unread(world);
            ledger_feed_fail(world->feed, ERR_OK);
            ledger_feed_lag(world->feed, &current, 1);
            read_again(world);
            assert_int_equal(world->settled.created + world->settled.quarantined, 0);
            assert_unchanged(world, claims[i]);
        }
    gap_close_ledger(world, LEASED, 51, 0);
    assert_int_equal(gap_world_follow(world), ERR_OK);
    assert_int_equal(world->settled.confirmed, 1);
}

/* Otherwise the account stays `creating` for ever, because the submission is decided. */
static void a_creation_counts_whatever_the_metadata_says_about_the_new_account(void **state)
{
    struct gap_world *world = *state;
    char source[ADDRESS_SIZE], account[ADDRESS_SIZE], hex[HASH_HEX_SIZE];
    const struct public_key distribution = built_key(900), key = built_key(CREATING);
    const struct hash hash = built_hash(900);
    address_encode(&distribution, source);
    address_encode(&key, account);
    hash_encode(&hash, hex);
    test_db_execf(&world->db,
        "INSERT INTO fairway.network (passphrase, distribution_account) VALUES ('" GAP_NETWORK "', '%s');"
        "INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, sequence, max_time)"
        " VALUES ('creation', '{%s}', '\\x%s', '', 51, 4000000000)",
        source, account, hex);
    const int64_t begins_at = (int64_t)101 << 32;
    const struct built_transaction submission = {.hash = hash};
    const struct built_account claims[] = {{.key = distribution, .sequence = 51},
        {.key = key, .sequence = begins_at + 7, .created = true, .invented = true}};
    ledger_feed_put(world->feed, &(struct built_account){.key = key, .sequence = begins_at});
    ledger_feed_close(world->feed,
        &(struct built_ledger){
            .transactions = &submission, .transaction_count = 1, .accounts = claims, .account_count = 2});
    if (gap_world_follow(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
    assert_int_equal(world->settled.created, 1);
    assert_int_equal(
        gap_count(world, "a.slot = 4 AND a.state = 'active' AND a.sequence = 101::int8 << 32"), 1);
}

/* Accounts whose rows explain the claim are not read. */
static void a_ledger_whose_metadata_agrees_with_its_transactions_needs_no_read(void **state)
{
    struct gap_world *world = *state;
    gap_close_ledger(world, LEASED, 51, 0);
    const unsigned before = ledger_feed_requests(world->feed);
    assert_int_equal(gap_world_follow(world), ERR_OK);
    assert_int_equal(world->settled.confirmed, 1);
    assert_int_equal(ledger_feed_requests(world->feed), before);
}

/* Left out of the metadata, a proved change is known all the same. */
static void a_lease_ends_and_its_account_follows_without_any_metadata(void **state)
{
    struct gap_world *world = *state;
    const struct built_transaction ours = {.hash = built_hash(LEASED)};
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = &ours, .transaction_count = 1});
    assert_int_equal(gap_world_follow(world), ERR_OK);
    assert_int_equal(world->settled.confirmed, 1);
    assert_int_equal(
        gap_count(world, "l.result = 'confirmed' AND a.sequence = 51 AND a.lease_hash IS NULL"), 1);
}

static void a_ledger_with_invented_transactions_is_refused(void **state)
{
    struct gap_world *world = *state;
    const struct built_transaction ours = {.hash = built_hash(LEASED)};
    for (unsigned version = 0; version < 3; version++) { /* each version of the metadata */
        ledger_feed_close(world->feed,
            &(struct built_ledger){.transactions = &ours, .transaction_count = 1, .invented = true});
        assert_int_equal(gap_world_follow(world), ERR_LEDGER_MISMATCH);
        assert_non_null(strstr(world->detail.text, "its transactions do not have the hash"));
        assert_unchanged(world, &lies[0]);
        tear_down(state);
        set_up(state);
        world = *state;
        for (unsigned i = 0; i <= version; i++) {
            ledger_feed_close(world->feed, NULL);
            assert_int_equal(gap_world_follow(world), ERR_OK);
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_invented_change_of_an_account_costs_a_read_and_changes_nothing),
        TEST(a_change_that_cannot_be_read_stops_ingestion_and_changes_nothing),
        TEST(accounts_with_claims_that_cannot_be_read_are_not_leased_until_they_are_read),
        TEST(a_creation_counts_whatever_the_metadata_says_about_the_new_account),
        TEST(a_ledger_whose_metadata_agrees_with_its_transactions_needs_no_read),
        TEST(a_lease_ends_and_its_account_follows_without_any_metadata),
        TEST(a_ledger_with_invented_transactions_is_refused),
    };
    return cmocka_run_group_tests_name("ingest, an RPC that lies", tests, test_pg_start, test_pg_stop);
}
