/* Which replica leads: one leads, the others watch it, and take over when it cannot go on. */
#include "support/ingest_world.h"

#include "../../src/ingest/ledger_commit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"
#include "support/pool_rows.h"
#include "support/take_lead.h"

TEST(one_replica_leads_and_another_is_ready_and_takes_over)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    struct ingest *second = ingest_world_start(world);
    await_ready(second);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 0);
    ingest_stop(world->ingest);
    world->ingest = second;
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 1);
}

static struct lead lead_by(struct db *db)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    return (struct lead){.db = db, .network = network, .locks = lock_numbers_of(&network)};
}

static struct lead lead_of(const struct ingest_world *world)
{
    return lead_by(db_new(&(struct db_settings){.url = world->db.serve_url, .name = "fairway test"}));
}

/* A leader after SIGSTOP: its session has the lock, and it does nothing. */
static struct lead stopped_leader(struct ingest_world *world)
{
    struct lead lead = lead_of(world);
    struct ledger_committed committed;
    struct rpc_ledger first = ledger_feed_ledger(world->feed, FIRST);
    take_lead(&lead);
    assert_int_equal(commit_received(&lead, &first, &committed, NULL), ERR_OK);
    return lead;
}

static void free_lead(struct lead *lead)
{
    lead_drop(lead);
    lead_free(lead);
}

static int64_t term_of(const struct ingest_world *world)
{
    return test_db_number(&world->db, "SELECT term FROM fairway.cursor");
}

/* Number of sessions of this name that have the leader lock. */
#define LEADERS(name)                                                                                        \
    "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory'" \
    " AND l.granted AND a.datname = current_database() AND a.application_name = '" name "'"

/* The new leader writes its term before it takes the lock, so the old one commits nothing in between. */
TEST(H14_a_stopped_leader_is_replaced_and_its_session_is_ended)
{
    struct ingest_world *world = *state;
    struct lead stopped = stopped_leader(world);
    world->ingest = ingest_world_start(world);
    await_ready(world->ingest);
    clock_sleep_ms(2 * STALE_MS);
    assert_int_equal(term_of(world), 0); /* no ledger is due */
    assert_int_equal(test_db_number(&world->db, LEADERS("fairway test")), 1);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    assert_int_equal(term_of(world), 1);
    await_number(world, LEADERS("fairway test"), 0);
    await_number(world, LEADERS("fairway ingest"), 1);
    struct ledger_committed committed;
    struct rpc_ledger late = ledger_feed_ledger(world->feed, FIRST + 1);
    enum err e = commit_received(&stopped, &late, &committed, NULL);
    assert_true(e == ERR_NOT_LEADER || e == ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(lead_take(&stopped, NULL), ERR_NOT_LEADER);
    close_ledgers(world, 2);
    await_cursor(world, FIRST + 5);
    assert_int_equal(term_of(world), 1);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 6);
    free_lead(&stopped);
}

/* Otherwise the stopped leader's session keeps the lock, and after the new leader's first lost connection no
 * replica leads until the cursor has stood still for long enough again. */
TEST(H14_after_a_take_over_the_lock_is_free_when_the_new_leader_gives_up_the_lead)
{
    struct ingest_world *world = *state;
    struct lead stopped = stopped_leader(world);
    struct lead successor = lead_of(world), third = lead_of(world);
    assert_int_equal(lead_take(&successor, NULL), ERR_NOT_LEADER);
    assert_int_equal(lead_take_over(&successor, stopped.term, NULL), ERR_OK);
    assert_int_equal(lead_take(&third, NULL), ERR_NOT_LEADER);
    assert_int_equal(
        lead_take_over(&third, stopped.term, NULL), ERR_NOT_LEADER); /* it saw the same, too late */
    lead_drop(&successor);
    take_lead(&third);
    assert_int_equal(third.term, 2);
    free_lead(&stopped);
    free_lead(&successor);
    free_lead(&third);
}

/* This role may not end sessions of another role. */
static struct db *as_another_role(const struct ingest_world *world)
{
    test_db_execf(&world->db,
        "CREATE ROLE other_%1$s LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA fairway TO other_%1$s;"
        "GRANT ALL ON ALL TABLES IN SCHEMA fairway TO other_%1$s;"
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairway TO other_%1$s",
        world->db.name);
    AUTO_FREE char *url =
        mem_format("postgresql://other_%s:x@127.0.0.1:%u/%s", world->db.name, test_pg_port(), world->db.name);
    return db_new(&(struct db_settings){.url = url, .name = "fairway test"});
}

static void drop_another_role(const struct ingest_world *world)
{
    test_db_execf(&world->db, "DROP OWNED BY other_%1$s; DROP ROLE other_%1$s", world->db.name);
}

TEST(H14_a_new_leader_that_may_not_end_the_old_session_leads_by_its_term_alone)
{
    struct ingest_world *world = *state;
    struct lead stopped = stopped_leader(world), successor = lead_by(as_another_role(world));
    struct ledger_committed committed;
    assert_int_equal(lead_take_over(&successor, stopped.term, NULL), ERR_OK);
    assert_int_equal(successor.term, 1);
    assert_int_equal(test_db_number(&world->db, LEADERS("fairway test")), 1); /* of the stopped leader */
    close_ledgers(world, 2);
    struct rpc_ledger next = ledger_feed_ledger(world->feed, FIRST + 1);
    assert_int_equal(commit_received(&successor, &next, &committed, NULL), ERR_OK);
    assert_int_equal(commit_received(&stopped, &next, &committed, NULL), ERR_NOT_LEADER);
    lead_drop(&successor);
    /* when it goes on, it still has the lock and leads by a newer term */
    take_lead(&stopped);
    assert_int_equal(stopped.term, 2);
    next = ledger_feed_ledger(world->feed, FIRST + 2);
    assert_int_equal(commit_received(&stopped, &next, &committed, NULL), ERR_OK);
    free_lead(&stopped);
    free_lead(&successor);
    drop_another_role(world);
}

/* An RPC that becomes unavailable to one replica. */
static bool rpc_unavailable;
static struct feed rpc;

static enum err ledgers_unless_unavailable(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    if (!__atomic_load_n(&rpc_unavailable, __ATOMIC_SEQ_CST))
        return rpc.ledgers(source, start, limit, out, detail);
    *out = (struct rpc_ledgers){0};
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "the RPC is unavailable");
}

TEST(DR6_a_leader_whose_rpc_stays_unavailable_is_replaced_by_a_replica_whose_rpc_has_the_ledger)
{
    struct ingest_world *world = *state;
    struct ingest_settings settings = ingest_world_settings(world);
    rpc = world->source;
    struct feed first_rpc = rpc;
    first_rpc.ledgers = ledgers_unless_unavailable;
    rpc_unavailable = false;
    settings.feed = &first_rpc;
    world->ingest = ingest_world_start_with(&settings);
    await_cursor(world, FIRST);
    settings.feed = &world->source;
    struct ingest *second = ingest_world_start_with(&settings);
    await_ready(second);
    __atomic_store_n(&rpc_unavailable, true, __ATOMIC_SEQ_CST);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    ingest_stop(second);
    await_not_ready(world->ingest, "the RPC is unavailable");
}

/* As with a full disk: the lead can be taken, but no ledger is written. A replica that has led in vain waits
 * three times as long before it takes the lead back. */
TEST(DR6_a_lead_that_no_replica_can_use_is_kept)
{
    struct ingest_world *world = *state;
    struct ingest_settings settings = ingest_world_settings(world);
    settings.poll_ms = 500; /* when it has lost the lead, the lock is free for a moment */
    world->ingest = ingest_world_start_with(&settings);
    await_cursor(world, FIRST);
    struct ingest *second = ingest_world_start(world);
    await_ready(second);
    test_db_exec(&world->db,
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE disk_full USING MESSAGE = 'injected'; END $$;"
        "CREATE TRIGGER fault BEFORE INSERT ON fairway.ledgers FOR EACH ROW EXECUTE FUNCTION public.fail()");
    int64_t alone_ms = clock_ms(); /* the second replica has not led until then */
    close_ledgers(world, 1);
    await_not_ready(world->ingest, "injected");
    int64_t term = 0;
    for (int64_t end_ms = clock_ms() + slower(PATIENCE_MS); term < 2; clock_sleep_ms(20)) {
        const int64_t asked_ms = clock_ms();
        assert_true(asked_ms < end_ms);
        term = term_of(world);
        if (term == 0)
            alone_ms = asked_ms;
    }
    assert_true(clock_ms() - alone_ms >= 3 * STALE_MS);
    await_not_ready(world->ingest, "injected");
    await_not_ready(second, "injected");
    test_db_exec(&world->db, "DROP TRIGGER fault ON fairway.ledgers");
    await_cursor(world, FIRST + 1);
    await_ready(world->ingest);
    await_ready(second);
    ingest_stop(second);
}

/* A lead whose beginning has failed is no lead: what was forgotten must be on hold before a ledger is
 * committed.
 */
TEST(DR10_a_leader_of_a_database_that_was_set_back_commits_nothing_before_grants_are_on_hold)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    test_db_execf(&world->db,
        "ALTER FUNCTION fairway.hold_grants RENAME TO hold_grants_away;"
        "UPDATE fairway.cursor c SET sequence = l.sequence, hash = l.hash, close_time = l.close_time"
        " FROM fairway.ledgers l WHERE l.sequence = %1$d; DELETE FROM fairway.ledgers WHERE sequence > %1$d",
        FIRST + 1);
    close_ledgers(world, 1);
    await_not_ready(world->ingest, "hold_grants");
    for (int64_t end = clock_ms() + 30 * POLL_MS; clock_left_ms(end) > 0; clock_sleep_ms(10))
        assert_int_equal(cursor_of(world), FIRST + 1);
    test_db_exec(&world->db, "ALTER FUNCTION fairway.hold_grants_away RENAME TO hold_grants");
    await_cursor(world, FIRST + 4);
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.cursor WHERE held_until IS NOT NULL"), 1);
}

static bool check_passes;

static enum err check(void *context, struct detail *detail)
{
    return __atomic_load_n(&check_passes, __ATOMIC_SEQ_CST)
               ? ERR_OK
               : detail_set(detail, ERR_CONFIG, "another network");
}

TEST(nothing_is_ingested_before_the_check_has_passed)
{
    struct ingest_world *world = *state;
    struct ingest_settings settings = ingest_world_settings(world);
    settings.check.run = check;
    check_passes = false;
    world->ingest = ingest_world_start_with(&settings);
    await_not_ready(world->ingest, "ingestion stopped: another network");
    close_ledgers(world, 2);
    clock_sleep_ms(5 * POLL_MS);
    assert_false(ingest_checked(world->ingest));
    assert_int_equal(cursor_of(world), 0);
    __atomic_store_n(&check_passes, true, __ATOMIC_SEQ_CST);
    await_cursor(world, FIRST + 2);
    await_ready(world->ingest);
    assert_true(ingest_checked(world->ingest));
}

TEST_FIXTURE(ingest_world_set_up, ingest_world_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
