/* When a replica takes over from a leader that still has its lock. */
#include "check.h"
#include "lead.h"

static bool note(struct leader_watch *watch, uint32_t sequence, int64_t now_ms)
{
    return leader_watch_note(watch, &(struct cursor_snapshot){.known = true, .sequence = sequence}, now_ms);
}

TEST(a_leader_whose_cursor_moves_is_left_alone_however_far_it_lags)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000};
    for (uint32_t i = 0; i < 10; i++)
        assert_false(note(&watch, 100 + i, 5000 + 999 * (int64_t)i));
    assert_false(note(&watch, 109, 5000 + 999 * 9 + 999));
    assert_true(note(&watch, 109, 5000 + 999 * 9 + 1000));
    assert_false(note(&watch, 110, 5000 + 999 * 9 + 1001));
}

TEST(a_leader_of_an_empty_database_is_left_alone)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000};
    for (int64_t now_ms = 1; now_ms < 10000; now_ms += 1000)
        assert_false(leader_watch_note(&watch, &(struct cursor_snapshot){.known = false}, now_ms));
}

TEST(a_leader_is_left_alone_unless_a_ledger_is_due)
{
    static const enum err answers[] = {
        ERR_LEDGER_AHEAD, ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED, ERR_CANCELLED, ERR_LEDGER_MISMATCH};
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000};
    assert_false(note(&watch, 100, 1));
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_false(leader_watch_decide(&watch, answers[i], 200, 1000000));
    assert_true(leader_watch_decide(&watch, ERR_OK, 101, 1001));
    assert_false(leader_watch_decide(&watch, ERR_OK, 101, 1000));
}

TEST(a_leader_that_recovers_from_a_gap_gets_more_time)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000};
    assert_false(note(&watch, 100, 1));
    assert_false(leader_watch_decide(&watch, ERR_LEDGER_GAP, 101, 10000));
    assert_true(leader_watch_decide(&watch, ERR_LEDGER_GAP, 101, 10001));
}

TEST(where_this_replica_has_led_itself_a_leader_gets_more_time)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000, .led = 100};
    assert_false(note(&watch, 100, 1));
    assert_false(leader_watch_decide(&watch, ERR_OK, 101, 3000));
    assert_true(leader_watch_decide(&watch, ERR_OK, 101, 3001));
    assert_false(leader_watch_decide(&watch, ERR_LEDGER_GAP, 101, 10000));
    assert_false(note(&watch, 101, 10000));
    assert_true(leader_watch_decide(&watch, ERR_OK, 101, 11000));
}

TEST(two_ledgers_that_are_due_are_not_left_unless_this_replica_could_not_commit_them_either)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 20000};
    assert_false(note(&watch, 100, 1));
    assert_true(note(&watch, 100, 1001));
    assert_true(leader_watch_decide(&watch, ERR_OK, 102, 1001));
    assert_false(leader_watch_decide(&watch, ERR_OK, 101, 1001));
    assert_false(leader_watch_decide(&watch, ERR_LEDGER_GAP, 102, 1001));
    watch.led = 100;
    assert_false(leader_watch_decide(&watch, ERR_OK, 102, 1001));
}

TEST(a_new_leader_of_the_same_ledger_gets_its_time)
{
    struct leader_watch watch = {.look_ms = 1000, .stale_ms = 1000};
    struct cursor_snapshot cursor = {.known = true, .sequence = 100, .term = 7};
    assert_false(leader_watch_note(&watch, &cursor, 1));
    assert_true(leader_watch_note(&watch, &cursor, 1001));
    cursor.term = 8;
    assert_false(leader_watch_note(&watch, &cursor, 1002));
    assert_true(leader_watch_note(&watch, &cursor, 2002));
}
