/* The ingest thread on a real PostgreSQL: it catches up, retries, recovers from gaps, and stops at ledgers
 * that it must not commit. */
#include "support/ingest_world.h"

#include <string.h>

#include "base/clock.h"
#include "pool/network.h"
#include "slowness.h"
#include "stellar/protocol.h"

static const char sql_allowed[] = "SELECT grants_allowed::int::int8 FROM fairway.cursor";

TEST(an_empty_database_starts_at_the_latest_ledger_and_follows)
{
    struct ingest_world *world = *state;
    close_ledgers(world, 5);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 5);
    await_ready(world->ingest);
    close_ledgers(world, 1);
    await_cursor(world, FIRST + 6);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
}

TEST(a_stopped_ingester_catches_up_ledger_by_ledger_in_few_requests)
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
        (unsigned)((clock_ms() - begun_ms) / POLL_MS); /* after the last ledger, on a slow machine */
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 101);
    if (requests > 20 + polls)
        fail_msg("%u requests for 100 ledgers", requests);
}

TEST(catching_up_works_with_an_rpc_that_returns_few_ledgers_at_once)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 60);
    ledger_feed_limit(world->feed, 3);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 60);
    await_ready(world->ingest);
}

TEST(a_replica_is_ready_while_no_ledger_closes_and_not_while_the_rpc_is_unavailable)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_ready(world->ingest);
    clock_sleep_ms(200);
    assert_true(ingest_ready(world->ingest, NULL));
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    await_not_ready(world->ingest, "RPC_UNAVAILABLE");
    ledger_feed_fail(world->feed, ERR_OK);
    clock_sleep_ms(200);
    assert_false(ingest_ready(world->ingest, NULL)); /* it answers, and that is all */
    close_ledgers(world, 1);
    await_ready(world->ingest);
    assert_int_equal(cursor_of(world), FIRST + 1);
}

TEST(DR4_a_wrong_hash_stops_ingestion_until_the_rpc_returns_the_right_ledger)
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
    await_not_ready(world->ingest, "stopped: ledger 101: its hash is not the SHA-256 of its header");
    assert_int_equal(cursor_of(world), FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    *byte ^= 1;
    ledger_feed_fail(world->feed, ERR_OK);
    await_cursor(world, FIRST + 1);
    await_ready(world->ingest);
}

TEST(an_unknown_union_arm_stops_ingestion_and_the_error_says_what_to_do)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    ledger_feed_fail(world->feed, ERR_RPC_UNAVAILABLE);
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9; /* LedgerCloseMeta V9 */
    ledger_feed_fail(world->feed, ERR_OK);
    await_not_ready(world->ingest, "stopped: ledger 101 is of a protocol newer than this build, install a "
                                   "newer fairway: LedgerCloseMeta 9");
    assert_int_equal(protocol_noted(), PROTOCOL_KNOWN + 1);
    assert_int_equal(cursor_of(world), FIRST);
}

TEST(DR5_a_gap_is_recovered_from_without_an_operator)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_drop_below(world->feed, FIRST + 5);
    ledger_feed_fail_once(world->feed, 2, ERR_RPC_UNAVAILABLE); /* the first request of the recovery */
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST + 10);
    await_ready(world->ingest);
    assert_int_equal(test_db_number(&world->db, sql_allowed), 1);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), 2);
    close_ledgers(world, 2);
    await_cursor(world, FIRST + 12);
}

TEST(DR4_a_gap_in_another_network_stops_grants_and_the_error_says_what_to_do)
{
    struct ingest_world *world = *state;
    struct ingest *first = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(first);
    close_ledgers(world, 10);
    ledger_feed_drop_below(world->feed, FIRST + 5);
    ledger_feed_passphrase(world->feed, "another");
    world->ingest = ingest_world_start(world);
    await_not_ready(world->ingest, "stopped: Stellar RPC serves another network, \"another\": set RPC_URL");
    assert_int_equal(test_db_number(&world->db, sql_allowed), 0);
    assert_int_equal(cursor_of(world), FIRST);
    ledger_feed_passphrase(world->feed, BUILT_PASSPHRASE);
    await_cursor(world, FIRST + 10);
    await_ready(world->ingest);
}

TEST(ingestion_goes_on_after_the_database_server_was_killed)
{
    struct ingest_world *world = *state;
    world->ingest = ingest_world_start(world);
    await_ready(world->ingest);
    test_pg_kill();
    close_ledgers(world, 2);
    await_not_ready(world->ingest, "retrying");
    test_pg_restart();
    await_cursor(world, FIRST + 2);
    await_ready(world->ingest);
}

TEST(ingest_stop_takes_little_time_wherever_the_thread_waits)
{
    struct ingest_world *world = *state;
    int64_t begun = clock_ms();
    ingest_stop(ingest_world_start(world)); /* before its first step */
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    ingest_stop(world->ingest); /* between polls */
    close_ledgers(world, 1);
    ledger_feed_meta(world->feed, FIRST + 1)->data[3] = 9;
    world->ingest = ingest_world_start(world);
    await_not_ready(world->ingest, "stopped");
    ingest_stop(world->ingest); /* in the pause after a stop */
    world->ingest = NULL;
    assert_true(clock_ms() - begun < slower(3000));
}

TEST(DR4_a_database_is_bound_to_one_network_and_one_distribution_account)
{
    struct ingest_world *world = *state;
    struct public_key key = built_key(1), other = built_key(2);
    struct network network;
    struct detail detail;
    AUTO_DB db = test_db_open(&world->db);
    assert_int_equal(network_read(db, &network, NULL), ERR_OK);
    assert_null(network.passphrase);
    assert_int_equal(network_bind(db, "one", &key, NULL), ERR_OK);
    assert_int_equal(network_bind(db, "one", &key, NULL), ERR_OK);
    assert_int_equal(network_bind(db, "two", &key, &detail), ERR_CONFIG);
    assert_non_null(
        strstr(detail.text, "serves the network \"one\", not \"two\": correct NETWORK_PASSPHRASE"));
    assert_int_equal(network_bind(db, "one", &other, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "are sponsored by G"));
    assert_int_equal(network_read(db, &network, NULL), ERR_OK);
    assert_string_equal(network.passphrase, "one");
    assert_true(public_key_equal(&network.distribution, &key));
    network_free(&network);
}

TEST_FIXTURE(ingest_world_set_up, ingest_world_tear_down)
GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
