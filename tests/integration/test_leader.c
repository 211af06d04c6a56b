/* Which replica ingests: one leads, the others stand by, and one that cannot go on is replaced. */
#include "support/ingest_world.h"

#include "../../src/ingest/lead.h"
#include "base/clock.h"

static void one_replica_leads_the_other_stands_by_ready_and_takes_over(void **state)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    struct ingest *second = ingest_world_start(world);
    await_green(second);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 0);
    ingest_stop(world->ingest);
    world->ingest = second;
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 1);
}

/* What SIGSTOP leaves of a leader: a session with the lock, and nobody behind it. */
static struct lead stopped_leader(struct ingest_world *world)
{
    const struct network_id network = network_id_of("ingest test");
    struct lead lead = {.db = test_db_open(&world->db, DB_DIRECT), .locks = lead_locks_of(&network)};
    struct ledger_committed committed;
    struct rpc_ledger first = ledger_feed_named(world->feed, FIRST);
    assert_int_equal(lead_take(&lead, NULL), ERR_OK);
    assert_int_equal(lead_commit(&lead, &first, &committed, NULL), ERR_OK);
    return lead;
}

static void H14_a_leader_that_was_stopped_is_passed_over_by_term_and_finds_itself_fenced(void **state)
{
    struct ingest_world *world = *state;
    struct lead stopped = stopped_leader(world);
    world->ingest = ingest_world_start(world);
    await_green(world->ingest);
    clock_sleep_ms(2 * STALE_MS);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 0); /* nothing is due */
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 1);
    struct ledger_committed committed;
    struct rpc_ledger late = ledger_feed_named(world->feed, FIRST + 1);
    assert_int_equal(lead_commit(&stopped, &late, &committed, NULL), ERR_NOT_LEADER);
    /* awake again and with the lock, it may lead by a newer term: the other one notices */
    assert_int_equal(lead_take(&stopped, NULL), ERR_OK);
    assert_int_equal(stopped.at.sequence, FIRST + 3);
    close_ledgers(world, 1);
    late = ledger_feed_named(world->feed, FIRST + 4);
    (void)!lead_commit(&stopped, &late, &committed, NULL); /* or the other one was quicker */
    lead_drop(&stopped);
    close_ledgers(world, 2);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 7);
    db_free(stopped.db);
}

/* One replica's own way to the network, which it can lose. */
static bool way_lost;
static struct feed way_to;

static enum err ledgers_unless_lost(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    if (!__atomic_load_n(&way_lost, __ATOMIC_SEQ_CST))
        return way_to.ledgers(source, start, limit, out, detail);
    *out = (struct rpc_ledgers){0};
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "no way to the RPC");
}

static void a_leader_whose_rpc_stays_away_lets_another_replica_lead(void **state)
{
    struct ingest_world *world = *state;
    struct ingest_settings settings = ingest_world_settings(world);
    settings.stale_ms = 10 * PATIENCE_MS; /* nobody is passed over */
    way_to = ledger_feed_source(world->feed);
    struct feed own = way_to;
    own.ledgers = ledgers_unless_lost;
    way_lost = false;
    world->ingest = ingest_world_start_with(&settings, &own);
    await_cursor(world, FIRST);
    struct ingest *second = ingest_world_start_with(&settings, &way_to);
    await_green(second);
    __atomic_store_n(&way_lost, true, __ATOMIC_SEQ_CST);
    close_ledgers(world, 3);
    await_cursor(world, FIRST + 3);
    ingest_stop(second);
    await_red(world->ingest, "no way to the RPC");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_world_set_up, ingest_world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_replica_leads_the_other_stands_by_ready_and_takes_over),
        TEST(H14_a_leader_that_was_stopped_is_passed_over_by_term_and_finds_itself_fenced),
        TEST(a_leader_whose_rpc_stays_away_lets_another_replica_lead),
    };
    return cmocka_run_group_tests_name("leader", tests, test_pg_start, test_pg_stop);
}
