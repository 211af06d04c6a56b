/* The ingest thread on a real PostgreSQL: it catches up, stands by, takes over, and stops at what it must not
 * pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/ingest/janitor.h"
#include "../../src/ingest/lead.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ingest/network.h"
#include "support/ledger_feed.h"
#include "support/pg.h"
#include "slowness.h"

#define FIRST 100
#define PATIENCE_MS 20000
#define STALE_MS 500
#define POLL_MS 20

struct world {
    struct test_db db;
    struct ledger_feed *feed;
    struct ingest *ingest;
};

static struct ingest *start(struct world *world)
{
    struct ingest *ingest;
    const struct ingest_settings settings = {.database_direct_url = world->db.url,
        .network = network_id_of("ingest test"),
        .poll_ms = POLL_MS,
        .ledger_seconds = 5,
        .stale_ms = STALE_MS,
        .retention_s = 3600};
    struct feed feed = ledger_feed_source(world->feed);
    assert_int_equal(ingest_start_from(&settings, &feed, &ingest, NULL), ERR_OK);
    return ingest;
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    world->db = test_db_new(TEST_DB_MIGRATED);
    world->feed = ledger_feed_new(FIRST, 20);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    ingest_stop(world->ingest);
    ledger_feed_free(world->feed);
    test_db_drop(&world->db);
    free(world);
    return 0;
}

static const char sql_allowed[] = "SELECT grants_allowed::int::int8 FROM fairway.cursor";
static const char sql_cursor[] = "SELECT coalesce(max(sequence), 0) FROM fairway.cursor";

static void await_cursor(struct world *world, uint32_t sequence)
{
    for (int64_t end = clock_ms() + PATIENCE_MS; test_db_number(&world->db, sql_cursor) != sequence;
         clock_sleep_ms(10))
        if (clock_left_ms(end) == 0)
            fail_msg("the cursor stands at %lld, not at %u",
                (long long)test_db_number(&world->db, sql_cursor), sequence);
}

/* Waits until it is not ready, for a reason that says word. */
static void await_red(struct ingest *ingest, const char *word)
{
    struct detail why = {"ready"};
    for (int64_t end = clock_ms() + PATIENCE_MS; ingest_ready(ingest, &why) || strstr(why.text, word) == NULL;
         clock_sleep_ms(5))
        if (clock_left_ms(end) == 0)
            fail_msg("\"%s\" does not say \"%s\"", why.text, word);
}

static void await_green(struct ingest *ingest)
{
    struct detail why;
    for (int64_t end = clock_ms() + PATIENCE_MS; !ingest_ready(ingest, &why); clock_sleep_ms(5))
        if (clock_left_ms(end) == 0)
            fail_msg("not ready: %s", why.text);
}

static void close_ledgers(struct world *world, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ledger_feed_close(world->feed, &(struct built_ledger){0});
}

static void an_empty_database_starts_at_the_latest_ledger_and_follows(void **state)
{
    struct world *world = *state;
    close_ledgers(world, 5);
    world->ingest = start(world);
    await_cursor(world, FIRST + 5);
    await_green(world->ingest);
    close_ledgers(world, 1);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
}

static void I5_a_stopped_ingester_catches_up_ledger_by_ledger_in_few_requests(void **state)
{
    struct world *world = *state;
    struct ingest *first = start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 100);
    unsigned before = ledger_feed_requests(world->feed);
    int64_t begun_ms = clock_ms();
    world->ingest = start(world);
    await_cursor(world, FIRST + 100);
    unsigned requests = ledger_feed_requests(world->feed) - before;
    unsigned polls =
        (unsigned)((clock_ms() - begun_ms) / POLL_MS); /* on a slow machine, after the last ledger */
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 101);
    if (requests > 20 + polls)
        fail_msg("%u requests for 100 ledgers", requests);
}

static void I5_an_rpc_that_gives_few_ledgers_at_once_is_caught_up_with(void **state)
{
    struct world *world = *state;
    struct ingest *first = start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 60);
    ledger_feed_at_most(world->feed, 3);
    world->ingest = start(world);
    await_cursor(world, FIRST + 60);
    await_green(world->ingest);
}

static void a_lag_is_red_and_catching_up_is_green_again(void **state)
{
    struct world *world = *state;
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST, 300);
    world->ingest = start(world);
    await_red(world->ingest, "closed 30");
    close_ledgers(world, 290);
    await_green(world->ingest);
}

static void a_silent_network_is_no_failure_and_an_absent_rpc_is(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_green(world->ingest);
    clock_sleep_ms(200);
    assert_true(ingest_ready(world->ingest, NULL));
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    await_red(world->ingest, "RPC_UNAVAILABLE");
    ledger_feed_fail(world->feed, ERR_OK);
    await_green(world->ingest);
    close_ledgers(world, 1);
    await_cursor(world, FIRST + 1);
}

static void DR4_a_broken_link_stops_loudly_and_the_right_ledger_mends_it(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    struct built_ledger next = {0};
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    ledger_feed_close(world->feed, &next);
    uint8_t *byte = &ledger_feed_meta(world->feed, FIRST + 1)->data[60];
    *byte ^= 1;
    ledger_feed_fail(world->feed, ERR_OK);
    await_red(world->ingest, "stopped: ledger 101: its header");
    assert_int_equal(test_db_number(&world->db, sql_cursor), FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    *byte ^= 1;
    ledger_feed_fail(world->feed, ERR_OK);
    await_cursor(world, FIRST + 1);
    await_green(world->ingest);
}

static void an_unknown_union_arm_stops_with_the_words_that_name_the_remedy(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9; /* LedgerCloseMeta V9 */
    ledger_feed_fail(world->feed, ERR_OK);
    await_red(world->ingest, "the network was upgraded, install a newer fairway");
    assert_int_equal(test_db_number(&world->db, sql_cursor), FIRST);
}

static void DR5_a_gap_is_recovered_from_by_itself_and_said_loudly(void **state)
{
    struct world *world = *state;
    struct ingest *first = start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_forget_below(world->feed, FIRST + 5);
    ledger_feed_fail_once(world->feed, 2, ERR_RPC_UNAVAILABLE); /* the recovery's first request */
    world->ingest = start(world);
    await_cursor(world, FIRST + 10);
    await_green(world->ingest);
    assert_int_equal(test_db_number(&world->db, sql_allowed), 1);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
    close_ledgers(world, 2);
    await_cursor(world, FIRST + 12);
}

static void DR4_a_gap_in_another_network_stops_grants_and_names_the_way_out(void **state)
{
    struct world *world = *state;
    struct ingest *first = start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_forget_below(world->feed, FIRST + 5);
    ledger_feed_name(world->feed, "another");
    world->ingest = start(world);
    await_red(world->ingest, "stopped: Stellar RPC serves another network, \"another\": set RPC_URL");
    assert_int_equal(test_db_number(&world->db, sql_allowed), 0);
    assert_int_equal(test_db_number(&world->db, sql_cursor), FIRST);
    ledger_feed_name(world->feed, "ingest test");
    await_cursor(world, FIRST + 10);
    await_green(world->ingest);
}

/* The network begins anew at a low number: the RPC says "not yet" to everything that is asked for. */
static void DR4_numbers_that_go_backwards_stop_loudly_and_name_the_way_out(void **state)
{
    struct world *world = *state;
    close_ledgers(world, 150);
    struct ingest *first = start(world);
    await_cursor(world, FIRST + 150);
    ingest_stop(first);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST + 100, 0);
    world->ingest = start(world); /* some ledgers behind: a slower node of the same network */
    await_green(world->ingest);
    ingest_stop(world->ingest);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(7, 0);
    world->ingest = start(world);
    await_red(world->ingest, "stopped: Stellar RPC is at ledger 7, far below the last committed one, 250");
    await_red(world->ingest, "needs a new database: fairway migrate, fairway ensure-accounts");
    assert_int_equal(test_db_number(&world->db, sql_cursor), FIRST + 150);
}

/* Another chain with the same numbers. */
static void DR4_a_ledger_of_another_chain_stops_loudly_and_names_the_way_out(void **state)
{
    struct world *world = *state;
    struct ingest *first = start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST, 5);
    close_ledgers(world, 3);
    world->ingest = start(world);
    await_red(world->ingest, "stopped: ledger 101: it does not follow from the last committed one");
    await_red(world->ingest, "needs a new database: fairway migrate, fairway ensure-accounts");
    assert_int_equal(test_db_number(&world->db, sql_cursor), FIRST);
}

static void one_replica_leads_the_other_stands_by_ready_and_takes_over(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    struct ingest *second = start(world);
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
static struct lead stopped_leader(struct world *world)
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
    struct world *world = *state;
    struct lead stopped = stopped_leader(world);
    world->ingest = start(world);
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

static void killed_database_sessions_are_no_end(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    for (uint32_t n = 1; n <= 5; n++) {
        test_db_exec(&world->db,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'fairway ingest' AND datname = current_database()");
        close_ledgers(world, 1);
        await_cursor(world, FIRST + n);
    }
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 6);
}

static void a_killed_database_server_is_waited_for(void **state)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_green(world->ingest);
    test_pg_kill();
    close_ledgers(world, 2);
    await_red(world->ingest, "waits");
    test_pg_restart();
    await_cursor(world, FIRST + 2);
    await_green(world->ingest);
}

static void stopping_is_prompt_wherever_it_waits(void **state)
{
    struct world *world = *state;
    int64_t begun = clock_ms();
    ingest_stop(start(world)); /* at once */
    world->ingest = start(world);
    await_cursor(world, FIRST);
    ingest_stop(world->ingest); /* between polls */
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9;
    world->ingest = start(world);
    await_red(world->ingest, "stopped");
    ingest_stop(world->ingest); /* in a long pause */
    world->ingest = NULL;
    assert_true(clock_ms() - begun < slower(3000));
}

static void the_janitor_deletes_in_steps_and_never_the_cursors_ledger(void **state)
{
    struct world *world = *state;
    struct ingest *ingest = start(world);
    await_cursor(world, FIRST);
    ingest_stop(ingest);
    test_db_exec(&world->db,
        "INSERT INTO fairway.ledgers SELECT n, hash, previous_hash, protocol, close_time, 0, 0,"
        " now() - interval '2 h' FROM fairway.ledgers, generate_series(101, 2600) n;"
        "UPDATE fairway.ledgers SET committed_at = now() - interval '2 h';"
        "UPDATE fairway.cursor SET sequence = 2600");
    struct janitor janitor = {.retention_s = 7201};
    struct db *db = test_db_open(&world->db, DB_DIRECT);
    assert_int_equal(janitor_step(&janitor, db, NULL), ERR_OK);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2501);
    janitor = (struct janitor){.retention_s = 7000};
    for (int64_t left = 1501; left > 0; left = left > 1000 ? left - 1000 : 0) {
        assert_int_equal(janitor_step(&janitor, db, NULL), ERR_OK);
        assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), left);
    }
    assert_int_equal(janitor_step(&janitor, db, NULL), ERR_OK);
    janitor.due_ms = 0;
    assert_int_equal(janitor_step(&janitor, db, NULL), ERR_OK);
    assert_int_equal(test_db_number(&world->db, "SELECT min(sequence) FROM fairway.ledgers"), 2600);
    db_free(db);
}

static void DR4_a_database_is_bound_to_one_network_and_one_distribution_account(void **state)
{
    struct world *world = *state;
    struct public_key key = built_key(1), other = built_key(2);
    struct network network;
    struct detail detail;
    struct db *db = test_db_open(&world->db, DB_DIRECT);
    assert_int_equal(network_read(db, &network, NULL), ERR_OK);
    assert_null(network.passphrase);
    assert_int_equal(network_bind(db, "one", &key, NULL), ERR_OK);
    assert_int_equal(network_bind(db, "one", &key, NULL), ERR_OK);
    assert_int_equal(network_bind(db, "two", &key, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "serves the network \"one\", not \"two\": use another database"));
    assert_int_equal(network_bind(db, "one", &other, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "are sponsored by G"));
    assert_int_equal(network_read(db, &network, NULL), ERR_OK);
    assert_string_equal(network.passphrase, "one");
    assert_true(public_key_equal(&network.distribution, &key));
    network_free(&network);
    db_free(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_database_starts_at_the_latest_ledger_and_follows),
        TEST(I5_a_stopped_ingester_catches_up_ledger_by_ledger_in_few_requests),
        TEST(I5_an_rpc_that_gives_few_ledgers_at_once_is_caught_up_with),
        TEST(a_lag_is_red_and_catching_up_is_green_again),
        TEST(a_silent_network_is_no_failure_and_an_absent_rpc_is),
        TEST(DR4_a_broken_link_stops_loudly_and_the_right_ledger_mends_it),
        TEST(an_unknown_union_arm_stops_with_the_words_that_name_the_remedy),
        TEST(DR5_a_gap_is_recovered_from_by_itself_and_said_loudly),
        TEST(DR4_a_gap_in_another_network_stops_grants_and_names_the_way_out),
        TEST(DR4_numbers_that_go_backwards_stop_loudly_and_name_the_way_out),
        TEST(DR4_a_ledger_of_another_chain_stops_loudly_and_names_the_way_out),
        TEST(one_replica_leads_the_other_stands_by_ready_and_takes_over),
        TEST(H14_a_leader_that_was_stopped_is_passed_over_by_term_and_finds_itself_fenced),
        TEST(killed_database_sessions_are_no_end),
        TEST(a_killed_database_server_is_waited_for),
        TEST(stopping_is_prompt_wherever_it_waits),
        TEST(the_janitor_deletes_in_steps_and_never_the_cursors_ledger),
        TEST(DR4_a_database_is_bound_to_one_network_and_one_distribution_account),
    };
    return cmocka_run_group_tests_name("ingest", tests, test_pg_start_private, test_pg_stop);
}
