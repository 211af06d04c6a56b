/* Only the very next ledger, proved and linked, is committed: each check refuses what it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cursor.h"

static struct hash hash_of(uint8_t fill)
{
    struct hash hash;
    memset(hash.bytes, fill, sizeof hash.bytes);
    return hash;
}

/* A position, and the ledger that follows from it. */
struct fixture {
    struct cursor at;
    struct rpc_ledger named;
    struct ledger ledger;
};

static struct fixture good(void)
{
    return (struct fixture){
        .at = {.known = true, .sequence = 9, .hash = hash_of(1), .close_time_s = 100, .protocol = 27},
        .named = {.sequence = 10, .hash = hash_of(2)},
        .ledger = {.protocol = 27,
            .sequence = 10,
            .close_time_s = 105,
            .hash = hash_of(2),
            .previous_hash = hash_of(1),
            .hash_proved = true,
            .results_proved = true},
    };
}

static void assert_refused(const struct fixture *fixture, const char *word)
{
    struct detail detail = {0};
    assert_int_equal(
        cursor_check(&fixture->at, &fixture->named, &fixture->ledger, &detail), ERR_LEDGER_MISMATCH);
    if (strstr(detail.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", detail.text, word);
}

static void the_next_ledger_is_accepted_and_becomes_the_position(void **state)
{
    (void)state;
    struct fixture fixture = good();
    assert_int_equal(cursor_check(&fixture.at, &fixture.named, &fixture.ledger, NULL), ERR_OK);
    struct cursor after = cursor_after(&fixture.ledger);
    assert_true(after.known);
    assert_int_equal(after.sequence, 10);
    assert_int_equal(after.close_time_s, 105);
    assert_int_equal(after.protocol, 27);
    assert_true(hash_equal(&after.hash, &fixture.ledger.hash));
}

static void DR4_a_ledger_with_another_number_is_refused(void **state)
{
    (void)state;
    static const uint32_t wrong[] = {0, 8, 9, 11, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fixture named = good(), sent = good();
        named.named.sequence = wrong[i];
        sent.ledger.sequence = wrong[i];
        assert_refused(&named, "ledger 10 is due");
        assert_refused(&sent, "ledger 10 is due");
    }
}

static void DR4_a_ledger_that_does_not_prove_itself_is_refused(void **state)
{
    (void)state;
    struct fixture header = good(), results = good(), named = good();
    header.ledger.hash_proved = false;
    assert_refused(&header, "header");
    results.ledger.results_proved = false;
    assert_refused(&results, "results");
    named.named.hash = hash_of(3);
    assert_refused(&named, "named");
}

static void DR4_a_ledger_that_is_not_linked_to_the_last_one_is_refused(void **state)
{
    (void)state;
    struct fixture fixture = good();
    fixture.ledger.previous_hash.bytes[31] ^= 1;
    assert_refused(&fixture, "does not follow");
}

static void neither_close_time_nor_protocol_goes_back(void **state)
{
    (void)state;
    struct fixture time = good(), protocol = good();
    time.ledger.close_time_s = 99;
    assert_refused(&time, "closed before");
    protocol.ledger.protocol = 26;
    assert_refused(&protocol, "protocol");
    time.ledger.close_time_s = 100; /* CAP-88: two ledgers may close in one second */
    protocol.ledger.protocol = 28;
    assert_int_equal(cursor_check(&time.at, &time.named, &time.ledger, NULL), ERR_OK);
    assert_int_equal(cursor_check(&protocol.at, &protocol.named, &protocol.ledger, NULL), ERR_OK);
}

static void the_first_ledger_needs_no_link_but_every_proof(void **state)
{
    (void)state;
    struct fixture fixture = good();
    fixture.at = (struct cursor){0};
    assert_int_equal(cursor_check(&fixture.at, &fixture.named, &fixture.ledger, NULL), ERR_OK);
    fixture.named.sequence = 11;
    assert_refused(&fixture, "ledger 11 is due");
    fixture.named.sequence = 10;
    fixture.ledger.results_proved = false;
    assert_refused(&fixture, "results");
}

static enum err check_behind_gap(const struct fixture *fixture, uint32_t asked, struct detail *detail)
{
    return cursor_check_after_gap(&fixture->at, asked, &fixture->named, &fixture->ledger, detail);
}

static void DR4_behind_a_gap_all_but_the_link_is_checked(void **state)
{
    (void)state;
    struct fixture unlinked = good();
    unlinked.ledger.previous_hash = hash_of(77);
    assert_int_equal(check_behind_gap(&unlinked, 10, NULL), ERR_OK);
    assert_int_equal(check_behind_gap(&unlinked, 11, NULL), ERR_LEDGER_MISMATCH); /* not what was asked for */
    struct fixture bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = unlinked;
    bad[0].ledger.hash_proved = false;
    bad[1].ledger.results_proved = false;
    bad[2].named.hash = hash_of(3);
    bad[3].named.sequence = 11;
    bad[4].ledger.sequence = 11;
    bad[5].ledger.close_time_s = 99;
    bad[6].ledger.protocol = 26;
    bad[7].at.sequence = 10;
    for (size_t i = 0; i < 8; i++)
        if (check_behind_gap(&bad[i], 10, NULL) != ERR_LEDGER_MISMATCH)
            fail_msg("case %zu is accepted", i);
}

static void DR4_an_rpc_some_ledgers_behind_is_waited_for_one_far_behind_is_not(void **state)
{
    (void)state;
    const struct cursor at = {.known = true, .sequence = 5000}, none = {.known = false};
    struct detail detail = {0};
    assert_int_equal(cursor_check_tip(&at, 5000, NULL), ERR_OK);
    assert_int_equal(cursor_check_tip(&at, 4990, NULL), ERR_OK);
    assert_int_equal(cursor_check_tip(&at, 6000, NULL), ERR_OK);
    assert_int_equal(cursor_check_tip(&at, 3, &detail), ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "new database: fairway migrate, fairway ensure-accounts"));
    assert_int_equal(cursor_check_tip(&none, 0, NULL), ERR_OK);
    const struct cursor low = {.known = true, .sequence = 50};
    assert_int_equal(cursor_check_tip(&low, 3, NULL), ERR_OK); /* a young network */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_ledger_is_accepted_and_becomes_the_position),
        cmocka_unit_test(DR4_a_ledger_with_another_number_is_refused),
        cmocka_unit_test(DR4_a_ledger_that_does_not_prove_itself_is_refused),
        cmocka_unit_test(DR4_a_ledger_that_is_not_linked_to_the_last_one_is_refused),
        cmocka_unit_test(neither_close_time_nor_protocol_goes_back),
        cmocka_unit_test(the_first_ledger_needs_no_link_but_every_proof),
        cmocka_unit_test(DR4_behind_a_gap_all_but_the_link_is_checked),
        cmocka_unit_test(DR4_an_rpc_some_ledgers_behind_is_waited_for_one_far_behind_is_not),
    };
    return cmocka_run_group_tests_name("ingest/position", tests, NULL, NULL);
}
