/* The ingest thread on a real PostgreSQL: it catches up, stands by, takes over, and stops at what it must not
 * pass. */
#include "support/ingest_world.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "pool/network.h"
#include "slowness.h"

static const char sql_allowed[] = "SELECT grants_allowed::int::int8 FROM fairway.cursor";

static void an_empty_database_starts_at_the_latest_ledger_and_follows(void **state)
{
    struct ingest_world *world = *state;
    close_ledgers(world, 5);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 5);
    await_green(world->ingest);
    close_ledgers(world, 1);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
}

static void I5_a_stopped_ingester_catches_up_ledger_by_ledger_in_few_requests(void **state)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 100);
    unsigned before = ledger_feed_requests(world->feed);
    int64_t begun_ms = clock_ms();
    world->ingest = ingest_world_start(world);
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
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 60);
    ledger_feed_at_most(world->feed, 3);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 60);
    await_green(world->ingest);
}

static void a_lag_is_red_and_catching_up_is_green_again(void **state)
{
    struct ingest_world *world = *state;
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST, 300);
    world->ingest = ingest_world_start(world);
    await_red(world->ingest, "closed 30");
    close_ledgers(world, 290);
    await_green(world->ingest);
}

static void a_silent_network_is_no_failure_and_an_absent_rpc_is(void **state)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
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

/* Waits, and returns how long the feed was asked nothing, at most. */
static int64_t longest_silence_ms(struct ingest_world *world, int64_t until_ms)
{
    int64_t longest_ms = 0, asked_ms = clock_ms();
    for (unsigned seen = ledger_feed_requests(world->feed), now; clock_left_ms(until_ms) > 0; seen = now) {
        now = ledger_feed_requests(world->feed);
        if (now != seen)
            asked_ms = clock_ms();
        if (clock_ms() - asked_ms > longest_ms)
            longest_ms = clock_ms() - asked_ms;
        clock_sleep_ms(5);
    }
    return longest_ms;
}

static void an_rpc_that_is_unavailable_is_asked_again_every_second_however_long_it_lasts(void **state)
{
    struct ingest_world *world = *state;
    struct ingest_settings settings = ingest_world_settings(world);
    settings.poll_ms = 400;
    const struct feed feed = ledger_feed_source(world->feed);
    world->ingest = ingest_world_start_with(&settings, &feed);
    await_cursor(world, FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    close_ledgers(world, 1);
    const int64_t silence_ms = longest_silence_ms(world, clock_ms() + 15000);
    if (silence_ms > 4000)
        fail_msg("nothing was asked for %lld ms", (long long)silence_ms);
    ledger_feed_fail(world->feed, ERR_OK);
    await_cursor(world, FIRST + 1);
}

static void DR4_a_broken_link_stops_loudly_and_the_right_ledger_mends_it(void **state)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    struct built_ledger next = {0};
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    ledger_feed_close(world->feed, &next);
    uint8_t *byte = &ledger_feed_meta(world->feed, FIRST + 1)->data[60];
    *byte ^= 1;
    ledger_feed_fail(world->feed, ERR_OK);
    await_red(world->ingest, "stopped: ledger 101: its header");
    assert_int_equal(cursor_of(world), FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    *byte ^= 1;
    ledger_feed_fail(world->feed, ERR_OK);
    await_cursor(world, FIRST + 1);
    await_green(world->ingest);
}

static void an_unknown_union_arm_stops_with_the_words_that_name_the_remedy(void **state)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9; /* LedgerCloseMeta V9 */
    ledger_feed_fail(world->feed, ERR_OK);
    await_red(world->ingest, "the network was upgraded, install a newer fairway");
    assert_int_equal(cursor_of(world), FIRST);
}

static void DR5_a_gap_is_recovered_from_by_itself_and_said_loudly(void **state)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_forget_below(world->feed, FIRST + 5);
    ledger_feed_fail_once(world->feed, 2, ERR_RPC_UNAVAILABLE); /* the recovery's first request */
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 10);
    await_green(world->ingest);
    assert_int_equal(test_db_number(&world->db, sql_allowed), 1);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
    close_ledgers(world, 2);
    await_cursor(world, FIRST + 12);
}

static void DR4_a_gap_in_another_network_stops_grants_and_names_the_way_out(void **state)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_forget_below(world->feed, FIRST + 5);
    ledger_feed_name(world->feed, "another");
    world->ingest = ingest_world_start(world);
    await_red(world->ingest, "stopped: Stellar RPC serves another network, \"another\": set RPC_URL");
    assert_int_equal(test_db_number(&world->db, sql_allowed), 0);
    assert_int_equal(cursor_of(world), FIRST);
    ledger_feed_name(world->feed, "ingest test");
    await_cursor(world, FIRST + 10);
    await_green(world->ingest);
}

/* The network begins anew at a low number: the RPC says "not yet" to everything that is asked for. */
static void DR4_numbers_that_go_backwards_stop_loudly_and_name_the_way_out(void **state)
{
    struct ingest_world *world = *state;
    close_ledgers(world, 150);
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST + 150);
    ingest_stop(first);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST + 100, 0);
    world->ingest = ingest_world_start(world); /* some ledgers behind: a slower node of the same network */
    await_green(world->ingest);
    ingest_stop(world->ingest);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(7, 0);
    world->ingest = ingest_world_start(world);
    await_red(world->ingest, "stopped: Stellar RPC is at ledger 7, far below the last committed one, 250");
    await_red(world->ingest, "needs a new database: fairway migrate, fairway ensure-accounts");
    assert_int_equal(cursor_of(world), FIRST + 150);
}

/* Another chain with the same numbers. */
static void DR4_a_ledger_of_another_chain_stops_loudly_and_names_the_way_out(void **state)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    ledger_feed_free(world->feed);
    world->feed = ledger_feed_new(FIRST, 5);
    close_ledgers(world, 3);
    world->ingest = ingest_world_start(world);
    await_red(world->ingest, "stopped: ledger 101: it does not follow from the last committed one");
    await_red(world->ingest, "needs a new database: fairway migrate, fairway ensure-accounts");
    assert_int_equal(cursor_of(world), FIRST);
}

static void killed_database_sessions_are_no_end(void **state)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
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
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
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
    struct ingest_world *world = *state;
    int64_t begun = clock_ms();
    ingest_stop(ingest_world_start(world)); /* at once */
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(world->ingest); /* between polls */
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9;
    world->ingest = ingest_world_start(world);
    await_red(world->ingest, "stopped");
    ingest_stop(world->ingest); /* in a long pause */
    world->ingest = NULL;
    assert_true(clock_ms() - begun < slower(3000));
}

static void DR4_a_database_is_bound_to_one_network_and_one_distribution_account(void **state)
{
    struct ingest_world *world = *state;
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_world_set_up, ingest_world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_database_starts_at_the_latest_ledger_and_follows),
        TEST(I5_a_stopped_ingester_catches_up_ledger_by_ledger_in_few_requests),
        TEST(I5_an_rpc_that_gives_few_ledgers_at_once_is_caught_up_with),
        TEST(a_lag_is_red_and_catching_up_is_green_again),
        TEST(a_silent_network_is_no_failure_and_an_absent_rpc_is),
        TEST(an_rpc_that_is_unavailable_is_asked_again_every_second_however_long_it_lasts),
        TEST(DR4_a_broken_link_stops_loudly_and_the_right_ledger_mends_it),
        TEST(an_unknown_union_arm_stops_with_the_words_that_name_the_remedy),
        TEST(DR5_a_gap_is_recovered_from_by_itself_and_said_loudly),
        TEST(DR4_a_gap_in_another_network_stops_grants_and_names_the_way_out),
        TEST(DR4_numbers_that_go_backwards_stop_loudly_and_name_the_way_out),
        TEST(DR4_a_ledger_of_another_chain_stops_loudly_and_names_the_way_out),
        TEST(killed_database_sessions_are_no_end),
        TEST(a_killed_database_server_is_waited_for),
        TEST(stopping_is_prompt_wherever_it_waits),
        TEST(DR4_a_database_is_bound_to_one_network_and_one_distribution_account),
    };
    return cmocka_run_group_tests_name("ingest", tests, test_pg_start_private, test_pg_stop);
}
