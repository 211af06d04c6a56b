/*
 * A recovery from a gap that is interrupted, or gets answers that contradict each other, changes nothing
 * except that grants are stopped. The next one starts again.
 */
#include "check.h"

#include <string.h>

#include "../../src/grant/grant_claim.h"
#include "base/mem.h"
#include "support/gap.h"
#include "support/take_lead.h"

#define CURSOR_AFTER 111
#define NEEDED 4   /* requests of every recovery: network, accounts, frozen keys, the ledger */
#define OPTIONAL 2 /* requests for the results of two leases */

/* Four accounts with leases: consumed without a result, consumed with a result, expired, and open. A fifth
 * account, without a lease, was removed. */
static int set_up(void **state)
{
    struct gap_world *world = gap_world_new();
    for (unsigned n = 1; n <= 4; n++)
        gap_leased(world, n);
    gap_account(world, 5, "active");
    const struct built_account gone = {.key = built_key(5), .removed = true};
    test_db_exec(&world->db, TEST_CHANGE_LEASES("max_ledger = 105 WHERE account = (SELECT public_key"
                                                " FROM fairway.channel_accounts WHERE slot = 3)"));
    gap_close_ledger(world, 1, 51, BY_NOBODY);
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = &gone, .account_count = 1});
    gap_drop_ledgers(world, 8, 1);
    gap_close_ledger(world, 2, 51, 0);
    ledger_feed_drop_below(world->feed, CURSOR_AFTER);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

/* Asserts that the recovery fails with this error and changes nothing except that grants are stopped. */
static void recovery_fails(struct gap_world *world, enum err expected, const char *word)
{
    int64_t before = gap_fingerprint(world);
    enum err e = gap_world_recover(world);
    if (e != expected || strstr(world->detail.text, word) == NULL)
        fail_msg(
            "%s instead of %s with \"%s\": %s", err_code(e), err_code(expected), word, world->detail.text);
    assert_true(gap_fingerprint(world) == before);
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
    assert_false(gap_grants_allowed(world));
}

static void recovers(struct gap_world *world)
{
    if (!world->lead.leads)
        take_lead(&world->lead);
    if (gap_world_recover(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
    assert_int_equal(gap_cursor(world), CURSOR_AFTER);
    assert_true(gap_grants_allowed(world));
    assert_int_equal(gap_count(world, "l.result = 'consumed' AND a.lease_hash IS NULL"), 1);
    assert_int_equal(gap_count(world, "l.result = 'confirmed' AND a.lease_hash IS NULL"), 1);
    assert_int_equal(gap_count(world, "l.result = 'expired' AND a.lease_hash IS NULL"), 1);
    assert_int_equal(gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 1);
    assert_int_equal(gap_count(world, "a.state = 'quarantined'"), 1);
}

TEST(DR4_an_rpc_that_fails_at_any_request_changes_nothing)
{
    struct gap_world *world = *state;
    for (unsigned nth = 1; nth <= NEEDED; nth++) {
        ledger_feed_fail_once(world->feed, nth, ERR_RPC_UNAVAILABLE);
        recovery_fails(world, ERR_RPC_UNAVAILABLE, "the feed says");
    }
    unsigned before = ledger_feed_requests(world->feed);
    recovers(world);
    assert_int_equal(ledger_feed_requests(world->feed) - before, NEEDED + OPTIONAL);
}

/* An RPC with a rate limit may refuse these requests at every try. */
TEST(DR5_an_rpc_that_does_not_return_the_results_of_leases_does_not_stop_the_recovery)
{
    struct gap_world *world = *state;
    ledger_feed_fail_once(world->feed, NEEDED + OPTIONAL, ERR_RPC_UNAVAILABLE);
    if (gap_world_recover(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
    assert_true(gap_grants_allowed(world));
    assert_int_equal(gap_count(world, "l.result = 'consumed' AND a.lease_hash IS NULL"), 2);
}

TEST(DR4_answers_as_of_the_cursor_or_before_change_nothing)
{
    struct gap_world *world = *state;
    static const unsigned lags[][2] = {{11, 0}, {0, 11}, {0, 15}}; /* of accounts, of frozen keys */
    for (size_t i = 0; i < ARRAY_LEN(lags); i++) {
        ledger_feed_lag(world->feed, lags[i], 2);
        recovery_fails(world, ERR_RPC_UNAVAILABLE, "not after the last committed one, 100");
    }
    ledger_feed_lag(world->feed, NULL, 0);
    recovers(world);
}

TEST(DR4_an_rpc_that_does_not_have_the_ledger_of_its_answers_changes_nothing)
{
    struct gap_world *world = *state;
    static const unsigned lag[] = {4};
    ledger_feed_lag(world->feed, lag, 1);
    recovery_fails(world, ERR_RPC_UNAVAILABLE, "as of ledger 107, which it does not have");
    ledger_feed_lag(world->feed, NULL, 0);
    recovers(world);
}

TEST(DR4_a_network_without_any_of_the_accounts_was_reset_and_is_refused)
{
    struct gap_world *world = *state;
    struct built_account gone[4];
    for (unsigned n = 1; n <= 4; n++)
        gone[n - 1] = (struct built_account){.key = built_key(n), .removed = true};
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = gone, .account_count = 4});
    recovery_fails(
        world, ERR_LEDGER_MISMATCH, "it may have been reset. A reset network needs a new database");
}

static void add_account(void *context)
{
    struct gap_world *world = context;
    ledger_feed_on_read(world->feed, NULL, NULL);
    gap_account(world, 9, "creating");
}

TEST(DR5_a_recovery_starts_again_when_an_account_was_added_while_others_were_read)
{
    struct gap_world *world = *state;
    ledger_feed_on_read(world->feed, add_account, world);
    assert_int_equal(gap_world_recover(world), ERR_NOT_YET);
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
    assert_int_equal(gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 4);
    recovers(world);
}

static void add_provisioning(void *context)
{
    struct gap_world *world = context;
    ledger_feed_on_read(world->feed, NULL, NULL);
    ledger_feed_put(world->feed, &(struct built_account){.key = built_key(1000), .sequence = 6});
    provisioning_row(&world->db, "creation", 900, UINT32_MAX);
}

TEST(DR5_a_recovery_starts_again_when_a_provisioning_transaction_was_stored_meanwhile)
{
    struct gap_world *world = *state;
    ledger_feed_on_read(world->feed, add_provisioning, world);
    assert_int_equal(gap_world_recover(world), ERR_NOT_YET);
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
    recovers(world);
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.provisioning WHERE state = 'pending'"), 1);
}

static void raise_term(void *context)
{
    struct gap_world *world = context;
    ledger_feed_on_read(world->feed, NULL, NULL);
    test_db_exec(&world->db, "UPDATE fairway.cursor SET term = term + 1");
}

TEST(H14_DR7_a_recovery_under_an_older_term_writes_nothing)
{
    struct gap_world *world = *state;
    ledger_feed_on_read(world->feed, raise_term, world);
    recovery_fails(world, ERR_NOT_LEADER, "another replica has taken over");
    lead_drop(&world->lead);
    recovers(world);
}

static void kill_session(void *context)
{
    struct gap_world *world = context;
    ledger_feed_on_read(world->feed, NULL, NULL);
    test_db_exec(&world->db, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
}

TEST(H14_a_recovery_whose_session_was_killed_writes_nothing)
{
    struct gap_world *world = *state;
    ledger_feed_on_read(world->feed, kill_session, world);
    int64_t before = gap_fingerprint(world);
    enum err e = gap_world_recover(world);
    assert_true(e == ERR_NOT_LEADER || e == ERR_DATABASE_UNAVAILABLE);
    assert_true(gap_fingerprint(world) == before);
    assert_int_equal(gap_world_recover(world), ERR_NOT_LEADER); /* in a new session, without the lock */
    assert_true(gap_fingerprint(world) == before);
    lead_drop(&world->lead);
    recovers(world);
}

/* The session is killed at each statement of the ledger transaction, and at its COMMIT. */
TEST(DR1_a_crash_at_any_statement_of_the_recovery_keeps_every_lease)
{
    struct gap_world *world = *state;
    static const struct {
        const char *table, *event;
    } faults[] = {{"lease_results", "INSERT"}, {"channel_accounts", "UPDATE"}, {"ledgers", "INSERT"}};
    test_db_exec(&world->db, "CREATE FUNCTION public.die() RETURNS trigger LANGUAGE plpgsql AS"
                             " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
    for (size_t i = 0; i < 2 * ARRAY_LEN(faults); i++) {
        bool at_commit = i % 2 == 1;
        test_db_execf(&world->db,
            "CREATE %s TRIGGER fault AFTER %s ON fairway.%s %s FOR EACH ROW EXECUTE FUNCTION public.die()",
            at_commit ? "CONSTRAINT" : "", faults[i / 2].event, faults[i / 2].table,
            at_commit ? "DEFERRABLE INITIALLY DEFERRED" : "");
        int64_t before = gap_fingerprint(world);
        enum err e = gap_world_recover(world);
        if (e != ERR_DATABASE_UNAVAILABLE && e != ERR_OUTCOME_UNKNOWN)
            fail_msg("%s: %s", err_code(e), world->detail.text);
        assert_true(gap_fingerprint(world) == before);
        assert_false(gap_grants_allowed(world));
        test_db_execf(&world->db, "DROP TRIGGER fault ON fairway.%s", faults[i / 2].table);
        lead_drop(&world->lead);
        take_lead(&world->lead);
    }
    recovers(world);
}

TEST(DR5_a_grant_in_flight_is_waited_for_before_any_account_is_read)
{
    struct gap_world *world = *state;
    AUTO_DB grant = test_db_open(&world->db);
    unsigned before = ledger_feed_requests(world->feed);
    assert_int_equal(db_begin(grant, NULL), ERR_OK);
    assert_int_equal(
        db_query(grant, DB_SQL0("SELECT pg_try_advisory_xact_lock_shared(hashtext('fairway grants'))"), NULL,
            NULL),
        ERR_OK);
    assert_int_not_equal(gap_world_recover(world), ERR_OK); /* lock_timeout */
    assert_int_equal(ledger_feed_requests(world->feed), before);
    assert_int_equal(gap_cursor(world), GAP_CURSOR);
    assert_false(gap_grants_allowed(world)); /* no other grant begins */
    db_rollback(grant);
    lead_drop(&world->lead);
    recovers(world);
}

/* A grant by another replica while accounts are read. */
struct attempt {
    struct gap_world *world;
    struct db *db;
    enum err e;
    struct detail detail;
};

static void try_grant(void *context)
{
    struct attempt *attempt = context;
    struct account_source account;
    bool members[1];
    const char *nobody = NULL;
    struct idempotency_keys keys = {0};
    struct usage usage = {0};
    struct grant_batch batch = {.mode = GRANT_CLAIM};
    static const struct grant_settings settings = {.ledger_ms = 3600000};
    struct grant_claim claim = {.settings = &settings,
        .batch = &batch,
        .wanted = 1,
        .keys = &keys,
        .usage = &usage,
        .claims = &(struct lease_claims){.count = 0},
        .bids = &(struct lease_bids){.count = 0},
        .accounts = &account,
        .members = members,
        .named = &nobody};
    ledger_feed_on_read(attempt->world->feed, NULL, NULL);
    attempt->e = grant_claim_begin(attempt->db, &claim, &attempt->detail);
    db_rollback(attempt->db);
}

TEST(DR5_no_lease_is_granted_while_accounts_are_read)
{
    struct gap_world *world = *state;
    struct attempt attempt = {.world = world, .db = test_db_open(&world->db)};
    gap_account(world, 6, "active");
    try_grant(&attempt);
    assert_int_equal(attempt.e, ERR_OK);
    ledger_feed_on_read(world->feed, try_grant, &attempt);
    recovers(world);
    assert_int_equal(attempt.e, ERR_GRANTS_SUSPENDED);
    assert_non_null(strstr(attempt.detail.text, GRANTS_GAP_REASON));
    try_grant(&attempt);
    assert_int_equal(attempt.e, ERR_OK);
    db_free(attempt.db);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
