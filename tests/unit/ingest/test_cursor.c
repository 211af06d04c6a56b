/* Only the next ledger, with the right hashes and the right link, may be committed. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "cursor.h"

static struct hash hash_of(uint8_t fill)
{
    struct hash hash;
    memset(hash.bytes, fill, sizeof hash.bytes);
    return hash;
}

/* A cursor, and the ledger that follows from it. */
struct fixture {
    struct cursor cursor;
    struct rpc_ledger received;
    struct ledger ledger;
};

static struct fixture good(void)
{
    return (struct fixture){
        .cursor = {.known = true, .sequence = 9, .hash = hash_of(1), .close_time_s = 100},
        .received = {.sequence = 10, .hash = hash_of(2)},
        .ledger = {.sequence = 10,
            .close_time_s = 105,
            .hash = hash_of(2),
            .previous_hash = hash_of(1),
            .hash_proved = true,
            .results_proved = true,
            .set_proved = true},
    };
}

static void assert_refused(const struct fixture *fixture, const char *word)
{
    struct detail detail = {0};
    assert_int_equal(cursor_check(&fixture->cursor, 10, &fixture->received, &fixture->ledger, &detail),
        ERR_LEDGER_MISMATCH);
    if (strstr(detail.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", detail.text, word);
}

TEST(the_next_ledger_is_accepted_and_becomes_the_cursor)
{
    struct fixture fixture = good();
    assert_int_equal(cursor_check(&fixture.cursor, 10, &fixture.received, &fixture.ledger, NULL), ERR_OK);
    struct cursor after = cursor_after(&fixture.ledger);
    assert_true(after.known);
    assert_int_equal(after.sequence, 10);
    assert_int_equal(after.close_time_s, 105);
    assert_true(hash_equal(&after.hash, &fixture.ledger.hash));
}

TEST(DR4_a_ledger_with_another_number_is_refused)
{
    static const uint32_t wrong[] = {0, 8, 9, 11, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fixture answer = good(), header = good();
        answer.received.sequence = wrong[i];
        header.ledger.sequence = wrong[i];
        assert_refused(&answer, "ledger 10 is due");
        assert_refused(&header, "ledger 10 is due");
    }
}

TEST(DR4_a_ledger_with_a_wrong_hash_is_refused)
{
    struct fixture header = good(), results = good(), set = good(), answer = good(), times = good();
    times.ledger.value.times_differ = true;
    assert_refused(&times, "milliseconds");
    header.ledger.hash_proved = false;
    assert_refused(&header, "header");
    results.ledger.results_proved = false;
    assert_refused(&results, "results");
    set.ledger.set_proved = false;
    assert_refused(&set, "its transactions");
    answer.received.hash = hash_of(3);
    assert_refused(&answer, "Stellar RPC's answer");
}

TEST(DR4_a_ledger_that_is_not_linked_to_the_last_one_is_refused)
{
    struct fixture fixture = good();
    fixture.ledger.previous_hash.bytes[31] ^= 1;
    assert_refused(&fixture, "does not follow");
}

TEST(DR4_a_ledger_with_an_earlier_close_time_is_refused)
{
    struct fixture time = good();
    time.ledger.close_time_s = 99;
    assert_refused(&time, "closed before");
    time.ledger.close_time_s = 100; /* CAP-88: several ledgers may close in one second */
    assert_int_equal(cursor_check(&time.cursor, 10, &time.received, &time.ledger, NULL), ERR_OK);
}

TEST(the_first_ledger_needs_no_link_but_the_right_hashes)
{
    struct fixture fixture = good();
    fixture.cursor = (struct cursor){0};
    assert_int_equal(cursor_check(&fixture.cursor, 10, &fixture.received, &fixture.ledger, NULL), ERR_OK);
    fixture.ledger.results_proved = false;
    assert_refused(&fixture, "results");
    fixture.ledger.results_proved = true;
    fixture.ledger.set_proved = false;
    assert_refused(&fixture, "its transactions");
}

TEST(DR4_an_rpc_may_lag_by_some_ledgers_but_not_far)
{
    const struct cursor cursor = {.known = true, .sequence = 5000}, none = {.known = false};
    struct detail detail = {0};
    assert_int_equal(cursor_check_latest(&cursor, 5000, NULL), ERR_OK);
    assert_int_equal(cursor_check_latest(&cursor, 4990, NULL), ERR_OK);
    assert_int_equal(cursor_check_latest(&cursor, 6000, NULL), ERR_OK);
    assert_int_equal(cursor_check_latest(&cursor, 3, &detail), ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "new database: fairway migrate, fairway ensure-accounts"));
    assert_int_equal(cursor_check_latest(&none, 0, NULL), ERR_OK);
    const struct cursor low = {.known = true, .sequence = 50};
    assert_int_equal(cursor_check_latest(&low, 3, NULL), ERR_OK); /* a young network */
}

TEST(DR10_a_smaller_term_or_ledger_or_another_hash_is_a_database_that_was_set_back)
{
    const struct cursor_snapshot seen = {.known = true, .sequence = 9, .term = 4, .hash = hash_of(1)},
                                 none = {.known = false};
    struct cursor_snapshot same = seen, later = seen, back[] = {seen, seen, seen};
    later.sequence = 10;
    later.hash = hash_of(2);
    later.term = 5;
    assert_false(cursor_went_back(&seen, &same));
    assert_false(cursor_went_back(&seen, &later));
    assert_false(cursor_went_back(&none, &seen));
    assert_false(cursor_went_back(&seen, &none));
    back[0].sequence = 8;
    back[1].term = 3;
    back[2].hash = hash_of(2);
    for (size_t i = 0; i < ARRAY_LEN(back); i++)
        assert_true(cursor_went_back(&seen, &back[i]));
    struct cursor_snapshot corrected = back[2];
    corrected.term = 5;
    assert_false(cursor_went_back(&seen, &corrected));
    later.term = 3; /* caught up since */
    assert_true(cursor_went_back(&seen, &later));
}
