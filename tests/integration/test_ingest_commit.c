/*
 * The ledger transaction on a real PostgreSQL: ledger row, cursor, leases and provisioning change together or
 * not at all, whatever fails, and only under the leader's term.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../src/ingest/ledger_commit.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "support/ledger_feed.h"
#include "support/pg.h"
#include "support/pool_rows.h"
#include "support/take_lead.h"

#define FIRST 100
#define TX_FAILED (-1)
/* Version, extension, hash and header at the start of a LedgerCloseMeta V1. */
#define HASHED_BYTES (4 + 4 + 32 + 324)

/* A database, a network with one ledger, and a leader that has committed it. */
struct world {
    struct test_db db;
    struct ledger_feed *feed;
    struct lead lead;
};

static struct network_id network;

static struct lead new_lead(const struct world *world)
{
    return (struct lead){.db = test_db_open(&world->db),
        .network = network,
        .locks = lock_numbers_of(&network),
        .ledger_ms = 5000};
}

static enum err commit(struct world *world, uint32_t sequence)
{
    struct ledger_committed committed;
    struct detail detail = {0};
    struct rpc_ledger named = ledger_feed_ledger(world->feed, sequence);
    return commit_received(&world->lead, &named, &committed, &detail);
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    network = network_id_of(BUILT_PASSPHRASE);
    world->db = test_db_new(TEST_DB_MIGRATED);
    world->feed = ledger_feed_new(FIRST, 0);
    world->lead = new_lead(world);
    take_lead(&world->lead);
    assert_int_equal(commit(world, FIRST), ERR_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    lead_free(&world->lead);
    ledger_feed_free(world->feed);
    test_db_drop(&world->db);
    free(world);
    return 0;
}

__attribute__((format(printf, 2, 3))) static void exec(struct world *world, const char *format, ...)
{
    char sql[4096];
    va_list args;
    va_start(args, format);
    assert_true(vsnprintf(sql, sizeof sql, format, args) < (int)sizeof sql);
    va_end(args);
    test_db_exec(&world->db, sql);
}

/* Adds an active account at sequence 50, with an open lease for sequence 51 whose hash is built_hash(n). */
static void lease(struct world *world, unsigned n)
{
    account_row(&world->db, n, "active");
    lease_row(&world->db, n, "", 0);
}

/* Closes a ledger with the leased transactions 1 to count. */
static void close_with(struct world *world, size_t count)
{
    struct built_transaction transactions[8] = {0};
    struct built_account accounts[8] = {0};
    for (size_t i = 0; i < count; i++) {
        transactions[i] = (struct built_transaction){.hash = built_hash(i + 1)};
        accounts[i] = (struct built_account){.key = built_key(i + 1), .sequence = 51};
    }
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = transactions,
                                       .transaction_count = count,
                                       .accounts = accounts,
                                       .account_count = count});
}

static int64_t cursor(struct world *world)
{
    return test_db_number(&world->db, "SELECT sequence FROM fairway.cursor");
}

static int64_t ledgers(struct world *world)
{
    return test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers");
}

static int64_t leased(struct world *world)
{
    return test_db_number(&world->db,
        "SELECT count(*) FROM fairway.channel_accounts a JOIN fairway.lease_history l"
        " ON l.hash = a.lease_hash AND l.account = a.public_key"
        " WHERE l.settled_at IS NULL");
}

static int64_t settled(struct world *world)
{
    return test_db_number(&world->db,
        "SELECT count(*) FROM fairway.lease_history l JOIN fairway.channel_accounts a"
        " ON a.public_key = l.account WHERE l.result = 'confirmed'"
        " AND l.ledger = (SELECT sequence FROM fairway.cursor)"
        " AND a.lease_hash IS NULL AND a.sequence = 51");
}

TEST(an_empty_database_begins_with_the_first_committed_ledger)
{
    struct world *world = *state;
    assert_int_equal(cursor(world), FIRST);
    assert_int_equal(ledgers(world), 1);
    assert_true(world->lead.cursor.known);
    assert_int_equal(world->lead.cursor.sequence, FIRST);
}

TEST(a_ledger_writes_its_row_moves_the_cursor_and_releases)
{
    struct world *world = *state;
    lease(world, 1);
    lease(world, 2);
    lease(world, 3);
    close_with(world, 2);
    assert_int_equal(leased(world), 3);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(cursor(world), FIRST + 1);
    assert_int_equal(ledgers(world), 2);
    assert_int_equal(settled(world), 2);
    assert_int_equal(leased(world), 1);
    assert_int_equal(test_db_number(&world->db,
                         "SELECT count(*) FROM fairway.ledgers l JOIN fairway.cursor c"
                         " USING (sequence, hash, close_time) WHERE (SELECT sum(e) FROM unnest(ends) e) = 2"
                         " AND transaction_count = 2 AND protocol = 28"),
        1);
}

/* Where the ledger transaction fails: at a statement, or (deferred) at COMMIT. */
static const struct fault {
    const char *table, *event;
    bool at_commit;
} faults[] = {
    {"ledgers", "INSERT", false},
    {"ledgers", "INSERT", true},
    {"cursor", "UPDATE", false},
    {"cursor", "UPDATE", true},
    {"lease_results", "INSERT", false},
    {"lease_results", "INSERT", true},
    {"channel_accounts", "UPDATE", false},
    {"channel_accounts", "UPDATE", true},
};

static void inject(struct world *world, const struct fault *fault)
{
    exec(world,
        "CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE integrity_constraint_violation USING MESSAGE = 'injected'; END $$;"
        "CREATE %s TRIGGER fault AFTER %s ON fairway.%s %s FOR EACH ROW EXECUTE FUNCTION public.fail()",
        fault->at_commit ? "CONSTRAINT" : "", fault->event, fault->table,
        fault->at_commit ? "DEFERRABLE INITIALLY DEFERRED" : "");
}

TEST(a_rolled_back_ledger_keeps_its_leases_and_its_retry_releases_exactly_once)
{
    struct world *world = *state;
    for (unsigned n = 1; n <= ARRAY_LEN(faults); n++)
        lease(world, n);
    close_with(world, ARRAY_LEN(faults));
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        inject(world, &faults[i]);
        assert_int_equal(commit(world, FIRST + 1), ERR_CONSTRAINT);
        assert_int_equal(cursor(world), FIRST);
        assert_int_equal(ledgers(world), 1);
        assert_int_equal(leased(world), ARRAY_LEN(faults));
        assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.channel_accounts"
                                                    " WHERE sequence <> 50"),
            0);
        exec(world, "DROP TRIGGER fault ON fairway.%s", faults[i].table);
    }
    /* from here on every end of a lease is counted */
    exec(world, "CREATE TABLE public.released (hash bytea);"
                "CREATE FUNCTION public.count_release() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN INSERT INTO public.released VALUES (NEW.hash); RETURN NULL; END $$;"
                "CREATE TRIGGER count AFTER INSERT ON fairway.lease_results FOR EACH ROW EXECUTE FUNCTION "
                "public.count_release()");
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(cursor(world), FIRST + 1);
    assert_int_equal(settled(world), ARRAY_LEN(faults));
    assert_int_equal(commit(world, FIRST + 1), ERR_LEDGER_MISMATCH); /* a second time */
    int64_t released = test_db_number(&world->db, "SELECT count(*) FROM public.released");
    assert_int_equal(released, ARRAY_LEN(faults));
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(DISTINCT hash) FROM public.released"), released);
}

TEST(a_session_that_ends_in_the_ledger_transaction_keeps_its_leases)
{
    struct world *world = *state;
    lease(world, 1);
    close_with(world, 1);
    exec(world, "CREATE FUNCTION public.die() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
                "CREATE TRIGGER fault AFTER INSERT ON fairway.lease_results FOR EACH ROW EXECUTE FUNCTION "
                "public.die()");
    assert_int_equal(commit(world, FIRST + 1), ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(leased(world), 1);
    assert_int_equal(cursor(world), FIRST);
    exec(world, "DROP TRIGGER fault ON fairway.lease_results");
    /* the new session does not have the lock: nothing may be committed before it is taken again */
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    assert_int_equal(leased(world), 1);
    take_lead(&world->lead);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(settled(world), 1);
}

TEST(DR4_a_ledger_that_is_changed_or_cut_short_commits_nothing)
{
    struct world *world = *state;
    lease(world, 1);
    close_with(world, 1);
    ledger_feed_close(world->feed, NULL);
    struct ledger_committed committed;
    struct detail detail;
    struct rpc_ledger named = ledger_feed_ledger(world->feed, FIRST + 1);
    struct buf *meta = ledger_feed_meta(world->feed, FIRST + 1);
    assert_int_equal(commit(world, FIRST + 2), ERR_LEDGER_MISMATCH); /* not the next one */
    for (size_t i = 0; i < HASHED_BYTES; i++) {
        meta->data[i] ^= 0x40;
        if (commit_received(&world->lead, &named, &committed, &detail) == ERR_OK)
            fail_msg("a change of byte %zu is not noticed", i);
        meta->data[i] ^= 0x40;
    }
    for (size_t cut = 1; cut < meta->len; cut += 7) {
        struct rpc_ledger part = named;
        part.meta.len -= cut;
        assert_int_not_equal(commit_received(&world->lead, &part, &committed, &detail), ERR_OK);
    }
    named.hash.bytes[0] ^= 1;
    assert_int_equal(commit_received(&world->lead, &named, &committed, &detail), ERR_LEDGER_MISMATCH);
    assert_int_equal(cursor(world), FIRST);
    assert_int_equal(leased(world), 1);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(settled(world), 1);
}

TEST(DR7_only_the_newest_term_commits)
{
    struct world *world = *state;
    lease(world, 1);
    close_with(world, 1);
    ledger_feed_close(world->feed, NULL);
    struct lead other = new_lead(world), old = world->lead;
    assert_int_equal(lead_take(&other, NULL), ERR_NOT_LEADER);
    exec(world, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
    take_lead(&other);
    assert_true(other.leads && other.term == old.term + 1);
    enum err e = commit(world, FIRST + 1); /* the first error may be that the session has ended */
    assert_true(e == ERR_NOT_LEADER || e == ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    assert_int_equal(cursor(world), FIRST);
    world->lead = other;
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(settled(world), 1);
    other = world->lead;
    world->lead = old;
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    assert_int_equal(lead_take(&world->lead, NULL), ERR_NOT_LEADER);
    assert_int_equal(cursor(world), FIRST + 1);
    lead_free(&other);
}

TEST(DR7_a_raised_term_fences_a_session_that_still_has_the_lock)
{
    struct world *world = *state;
    close_with(world, 0);
    exec(world, "UPDATE fairway.cursor SET term = term + 1");
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    assert_int_equal(cursor(world), FIRST);
    take_lead(&world->lead);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
}

TEST(Z4_a_session_without_the_lock_commits_nothing_even_under_its_own_term)
{
    struct world *world = *state;
    close_with(world, 0);
    db_disconnect(world->lead.db);
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    assert_int_equal(cursor(world), FIRST);
}

TEST(a_ledger_transaction_does_not_wait_for_another_one)
{
    struct world *world = *state;
    struct lead other = new_lead(world);
    close_with(world, 0);
    assert_int_equal(db_begin(other.db, NULL), ERR_OK);
    assert_int_equal(
        db_query(other.db, DB_SQL("SELECT pg_advisory_xact_lock($1)", DB_I64(world->lead.locks.ledger)), NULL,
            NULL),
        ERR_OK);
    assert_int_equal(commit(world, FIRST + 1), ERR_NOT_LEADER);
    db_rollback(other.db);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    db_free(other.db);
}

TEST(grants_stopped_for_a_gap_resume_with_the_next_ledger)
{
    struct world *world = *state;
    static const char allowed[] = "SELECT grants_allowed::int::int8 FROM fairway.cursor";
    close_with(world, 0);
    ledger_feed_close(world->feed, NULL);
    assert_int_equal(grants_stop_for_gap(world->lead.db, world->lead.term, NULL), ERR_OK);
    assert_int_equal(test_db_number(&world->db, allowed), 0);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(test_db_number(&world->db, allowed), 1);
    exec(world, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'hold'");
    assert_int_equal(grants_stop_for_gap(world->lead.db, world->lead.term, NULL), ERR_OK);
    assert_int_equal(commit(world, FIRST + 2), ERR_OK);
    assert_int_equal(test_db_number(&world->db, allowed), 0); /* another reason stays */
}

static int64_t count_in(struct world *world, const char *state)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM fairway.provisioning WHERE state = '%s'", state);
    return test_db_number(&world->db, sql);
}

TEST(the_provisioning_is_decided_in_the_ledger_transaction)
{
    struct world *world = *state;
    const struct built_transaction included = {.hash = built_hash(11)},
                                   refused = {.hash = built_hash(12), .code = TX_FAILED},
                                   other = {.hash = built_foreign(1)};
    const struct built_account used = {.key = built_key(1000), .sequence = 7};
    provisioning_row(&world->db, "creation", 11, UINT32_MAX);
    ledger_feed_close(world->feed, NULL);
    assert_int_equal(commit(world, FIRST + 1), ERR_OK);
    assert_int_equal(count_in(world, "pending"), 1);
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = &included, .transaction_count = 1});
    inject(world, &(struct fault){"cursor", "UPDATE", true});
    assert_int_equal(commit(world, FIRST + 2), ERR_CONSTRAINT);
    assert_int_equal(count_in(world, "pending"), 1);
    exec(world, "DROP TRIGGER fault ON fairway.cursor");
    assert_int_equal(commit(world, FIRST + 2), ERR_OK);
    assert_int_equal(count_in(world, "succeeded"), 1);
    provisioning_row(&world->db, "creation", 12, UINT32_MAX);
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = &refused, .transaction_count = 1});
    assert_int_equal(commit(world, FIRST + 3), ERR_OK);
    assert_int_equal(count_in(world, "failed"), 1);
    provisioning_row(&world->db, "creation", 13, UINT32_MAX);
    ledger_feed_close(world->feed,
        &(struct built_ledger){
            .transactions = &other, .transaction_count = 1, .accounts = &used, .account_count = 1});
    assert_int_equal(commit(world, FIRST + 4), ERR_OK);
    assert_int_equal(count_in(world, "superseded"), 1);
    provisioning_row(&world->db, "creation", 14, 1);
    ledger_feed_close(world->feed, NULL);
    assert_int_equal(commit(world, FIRST + 5), ERR_OK);
    assert_int_equal(count_in(world, "expired"), 1);
    assert_int_equal(count_in(world, "pending"), 0);
}

TEST(a_second_first_ledger_is_refused)
{
    struct world *world = *state;
    struct lead other = new_lead(world);
    lead_drop(&world->lead);
    take_lead(&other);
    other.cursor = (struct cursor){0}; /* as if it had read an empty database */
    world->lead = (lead_free(&world->lead), other);
    assert_int_equal(commit(world, FIRST), ERR_NOT_LEADER);
    assert_int_equal(ledgers(world), 1);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
