/* funds_step: what is known of the distribution account after a ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "funds_step.h"

#define RESERVE 5000000
#define CURSOR 100 /* the ledger of these tests is the next one */

static const struct public_key ours = {{1}}, others = {{2}};

static struct funds unknown(void)
{
    return (struct funds){.bound = true, .account = ours};
}

static struct funds known(int64_t balance, uint32_t ledger)
{
    struct funds funds = {.bound = true,
        .account = ours,
        .known = true,
        .ledger = ledger,
        .balance_stroops = balance,
        .reserves = 2,
        .base_reserve_stroops = RESERVE};
    funds.spendable_stroops = funds_spendable(&funds);
    return funds;
}

static struct account_snapshot read_as_of(int64_t balance, uint32_t ledger)
{
    return (struct account_snapshot){
        .account = {.key = ours, .balance_stroops = balance, .reserves = 2}, .ledger = ledger};
}

static const struct funds_limits limits = {
    .payment_stroops = 20000, .low_payments = 1000, .min_payments = 100};

/* Runs funds_step for a ledger that changes account (NULL: no account). */
static bool step_with(const struct funds *before, const struct ledger_account *account,
    const struct account_snapshot *read, const struct funds_limits *doubts, struct funds *after)
{
    struct ledger_account copy;
    struct ledger ledger = {.sequence = CURSOR + 1, .base_reserve_stroops = RESERVE};
    if (account != NULL) {
        copy = *account;
        ledger.accounts = &copy;
        ledger.account_count = 1;
    }
    return funds_step(before, &ledger, read, CURSOR, doubts, after);
}

static bool step(const struct funds *before, const struct ledger_account *account,
    const struct account_snapshot *read, struct funds *after)
{
    return step_with(before, account, read, NULL, after);
}

static void a_ledger_that_changes_the_account_has_all_of_its_state(void **state)
{
    (void)state;
    const struct ledger_account changed = {
        .key = ours, .balance_stroops = 90000000, .reserves = 4, .selling_stroops = 7};
    const struct funds before[] = {unknown(), known(1, CURSOR)};
    for (size_t i = 0; i < 2; i++) {
        struct funds after;
        assert_true(step(&before[i], &changed, NULL, &after));
        assert_true(after.known);
        assert_int_equal(after.ledger, CURSOR + 1);
        assert_int_equal(after.balance_stroops, 90000000);
        assert_int_equal(after.spendable_stroops, 90000000 - 4 * RESERVE - 7);
    }
}

static void a_ledger_without_the_account_changes_nothing(void **state)
{
    (void)state;
    const struct ledger_account changed = {.key = others, .balance_stroops = 5};
    const struct funds before = known(90000000, CURSOR), nothing = unknown();
    struct funds after;
    assert_false(step(&before, &changed, NULL, &after));
    assert_memory_equal(&after, &before, sizeof after);
    assert_false(step(&nothing, &changed, NULL, &after));
    assert_false(after.known);
}

static void a_merged_account_has_nothing_to_spend(void **state)
{
    (void)state;
    const struct ledger_account removed = {.key = ours, .removed = true};
    const struct funds before = known(90000000, CURSOR);
    struct funds after;
    assert_true(step(&before, &removed, NULL, &after));
    assert_true(after.known);
    assert_int_equal(after.spendable_stroops, 0);
}

static void a_read_is_used_only_as_of_the_cursor_or_later(void **state)
{
    (void)state;
    const struct funds nothing = unknown();
    struct funds after;
    for (uint32_t ledger = CURSOR; ledger <= CURSOR + 2; ledger++) {
        const struct account_snapshot read = read_as_of(90000000, ledger);
        assert_true(step(&nothing, NULL, &read, &after));
        assert_int_equal(after.ledger, ledger);
        assert_int_equal(after.spendable_stroops, 80000000);
    }
    const struct account_snapshot old = read_as_of(90000000, CURSOR - 1);
    assert_false(step(&nothing, NULL, &old, &after));
    assert_false(after.known);
}

/* A read as of this ledger or a later one has this ledger's changes; an earlier one lacks them. */
static void the_later_of_read_and_ledger_is_used(void **state)
{
    (void)state;
    const struct ledger_account changed = {.key = ours, .balance_stroops = 50000000, .reserves = 2};
    const struct funds nothing = unknown(), ahead = known(90000000, CURSOR + 1),
                       behind = known(90000000, CURSOR);
    const struct account_snapshot at_cursor = read_as_of(90000000, CURSOR),
                                  later = read_as_of(90000000, CURSOR + 1);
    struct funds after;
    assert_true(step(&nothing, &changed, &at_cursor, &after));
    assert_int_equal(after.balance_stroops, 50000000);
    assert_true(step(&nothing, &changed, &later, &after));
    assert_int_equal(after.balance_stroops, 90000000);
    assert_false(step(&ahead, &changed, NULL, &after));
    assert_int_equal(after.balance_stroops, 90000000);
    assert_true(step(&behind, &changed, NULL, &after));
    assert_int_equal(after.balance_stroops, 50000000);
}

/* After a leader of an older version, which followed no balance, or after wrong metadata of a ledger. */
static void a_later_read_corrects_what_is_known_and_an_older_one_does_not(void **state)
{
    (void)state;
    const struct funds before = known(90000000, CURSOR), ahead = known(90000000, CURSOR + 2);
    const struct account_snapshot later = read_as_of(70000000, CURSOR + 1),
                                  old = read_as_of(70000000, CURSOR - 1);
    struct funds after;
    assert_true(step(&before, NULL, &later, &after));
    assert_int_equal(after.spendable_stroops, 60000000);
    assert_false(step(&before, NULL, &old, &after));
    assert_false(step(&ahead, NULL, &later, &after));
    assert_int_equal(after.balance_stroops, 90000000);
}

static void a_read_of_another_account_is_ignored(void **state)
{
    (void)state;
    struct funds before = unknown(), after;
    const struct account_snapshot read = read_as_of(90000000, CURSOR);
    before.account = others;
    assert_false(step(&before, NULL, &read, &after));
    before = (struct funds){.bound = false};
    assert_false(step(&before, NULL, &read, &after));
    assert_false(after.known);
}

static void a_changed_base_reserve_counts_at_once(void **state)
{
    (void)state;
    struct funds before = known(90000000, CURSOR), after;
    before.base_reserve_stroops = 1;
    before.spendable_stroops = funds_spendable(&before);
    assert_true(step(&before, NULL, NULL, &after));
    assert_int_equal(after.spendable_stroops, 80000000);
    assert_int_equal(after.ledger, CURSOR);
}

#define LEAST (2 * RESERVE + 100 * 20000) /* enough for leases */

static void a_claim_that_is_too_low_for_leases_waits_for_a_read(void **state)
{
    (void)state;
    const struct funds before[] = {known(90000000, CURSOR), unknown()};
    const struct ledger_account low = {.key = ours, .balance_stroops = LEAST - 1, .reserves = 2},
                                removed = {.key = ours, .removed = true},
                                least = {.key = ours, .balance_stroops = LEAST, .reserves = 2};
    const struct account_snapshot at_cursor = read_as_of(LEAST - 1, CURSOR),
                                  later = read_as_of(LEAST - 1, CURSOR + 1);
    struct funds after;
    for (size_t i = 0; i < 2; i++) {
        assert_false(step_with(&before[i], &low, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, CURSOR + 1);
        assert_true(after.known == before[i].known);
        assert_int_equal(after.spendable_stroops, before[i].spendable_stroops);
        assert_int_equal(after.ledger, before[i].ledger);
        assert_false(step_with(&before[i], &removed, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, CURSOR + 1);
        assert_true(step_with(&before[i], &least, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, 0);
        assert_int_equal(after.spendable_stroops, 100 * 20000);
        /* what was read counts */
        assert_true(step_with(&before[i], &low, &later, &limits, &after));
        assert_int_equal(after.doubted_ledger, 0);
        assert_int_equal(after.balance_stroops, LEAST - 1);
        assert_int_equal(after.ledger, CURSOR + 1);
    }
    assert_false(step_with(&before[0], &removed, &at_cursor, &limits, &after)); /* as of the same ledger */
    assert_int_equal(after.balance_stroops, LEAST - 1);
    assert_int_equal(after.doubted_ledger, CURSOR + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_that_changes_the_account_has_all_of_its_state),
        cmocka_unit_test(a_ledger_without_the_account_changes_nothing),
        cmocka_unit_test(a_merged_account_has_nothing_to_spend),
        cmocka_unit_test(a_read_is_used_only_as_of_the_cursor_or_later),
        cmocka_unit_test(the_later_of_read_and_ledger_is_used),
        cmocka_unit_test(a_later_read_corrects_what_is_known_and_an_older_one_does_not),
        cmocka_unit_test(a_read_of_another_account_is_ignored),
        cmocka_unit_test(a_changed_base_reserve_counts_at_once),
        cmocka_unit_test(a_claim_that_is_too_low_for_leases_waits_for_a_read),
    };
    return cmocka_run_group_tests_name("ingest/funds_step", tests, NULL, NULL);
}
