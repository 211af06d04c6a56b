/* The names of account states, and how ledgers change an account's row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "pool/account_state.h"

static struct account_row row_of(enum account_state state)
{
    return (struct account_row){.state = state, .known = true, .sequence = 40, .sequence_ledger = 100};
}

static struct ledger_account seen(int64_t sequence)
{
    return (struct ledger_account){.sequence = sequence, .own_authority = true};
}

static void a_confirmed_lease_changes_the_sequence_number_only(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(41);
    assert_true(account_state_after_ledger(&row, &account, 101, true, false));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 41);
    assert_int_equal(row.sequence_ledger, 101);
}

static void a_ledger_that_is_not_above_the_rows_changes_nothing(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(90);
    assert_false(account_state_after_ledger(&row, &account, 100, false, false));
    assert_false(account_state_after_ledger(&row, &account, 99, false, false));
    assert_int_equal(row.sequence, 40);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
}

/* A payment to the account. */
static void a_change_without_a_sequence_number_only_moves_the_ledger(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(40);
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence_ledger, 101);
}

static void a_sequence_number_that_a_foreign_transaction_consumed_quarantines(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(41);
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_non_null(row.reason);
    assert_int_equal(row.sequence, 41);
}

static void DR10_while_grants_are_on_hold_unknown_transactions_and_removals_quarantine_nothing(void **state)
{
    (void)state;
    struct account_row used = row_of(ACCOUNT_ACTIVE), removed = row_of(ACCOUNT_ACTIVE), foreign = used;
    struct ledger_account account = seen(41), gone = seen(40), taken = seen(41);
    gone.removed = true;
    taken.own_authority = false;
    assert_true(account_state_after_ledger(&used, &account, 101, false, true));
    assert_int_equal(used.state, ACCOUNT_ACTIVE);
    assert_int_equal(used.sequence, 41);
    assert_true(account_state_after_ledger(&removed, &gone, 101, false, true));
    assert_int_equal(removed.state, ACCOUNT_RETIRED);
    assert_true(account_state_after_ledger(&foreign, &taken, 101, false, true));
    assert_int_equal(
        foreign.state, ACCOUNT_QUARANTINED); /* others can sign for it: no lease may be granted */
}

static void changed_signers_quarantine(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(40);
    account.own_authority = false;
    assert_true(account_state_after_ledger(&row, &account, 101, true, false));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
}

static void the_ledger_that_creates_an_account_activates_it_with_its_sequence_number(void **state)
{
    (void)state;
    struct account_row row = {.state = ACCOUNT_CREATING};
    struct ledger_account account = seen((int64_t)101 << 32);
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_true(row.known);
    assert_true(row.sequence == (int64_t)101 << 32);
}

static void removal_retires_a_retiring_account_and_quarantines_others(void **state)
{
    (void)state;
    struct ledger_account account = {.removed = true};
    struct account_row row = row_of(ACCOUNT_RETIRING);
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_RETIRED);
    row = row_of(ACCOUNT_ACTIVE);
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_int_equal(row.sequence, 40);
}

static void a_quarantined_account_keeps_its_first_reason(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_QUARANTINED);
    struct ledger_account account = seen(41);
    account.own_authority = false;
    assert_true(account_state_after_ledger(&row, &account, 101, false, false));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_null(row.reason);
    assert_int_equal(row.sequence, 41);
}

static void every_status_has_one_name_and_one_state(void **state)
{
    (void)state;
    enum account_status parsed;
    for (enum account_status s = 0; s < ACCOUNT_STATUSES; s++) {
        assert_int_equal(account_status_parse(account_status_name(s), &parsed), ERR_OK);
        assert_int_equal(parsed, s);
        assert_int_equal(account_status_of(account_status_state(s), s == ACCOUNT_STATUS_LEASED), s);
        assert_non_null(strstr(ACCOUNT_STATUS_NAMES, account_status_name(s)));
    }
    assert_int_equal(account_status_parse("active", &parsed), ERR_MALFORMED);
    assert_int_equal(account_status_of(ACCOUNT_RETIRING, true), ACCOUNT_STATUS_RETIRING);
}

static void every_state_has_one_name(void **state)
{
    (void)state;
    enum account_state parsed;
    for (int s = ACCOUNT_CREATING; s <= ACCOUNT_QUARANTINED; s++) {
        assert_int_equal(account_state_parse(account_state_name((enum account_state)s), &parsed), ERR_OK);
        assert_int_equal(parsed, s);
    }
    assert_int_equal(account_state_parse("idle", &parsed), ERR_MALFORMED);
}

/* The account was merged and created again, or this is another network. */
static void a_lower_sequence_number_quarantines(void **state)
{
    (void)state;
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(39);
    assert_true(account_state_after_ledger(&row, &account, 101, true, false));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_non_null(strstr(row.reason, "went back"));
    assert_int_equal(row.sequence, 39);
}

static void after_a_gap_a_missing_account_is_quarantined_or_retired_or_stays_to_be_created(void **state)
{
    (void)state;
    const struct ledger_account absent = {.removed = true};
    struct account_row active = row_of(ACCOUNT_ACTIVE), retiring = row_of(ACCOUNT_RETIRING),
                       creating = {.state = ACCOUNT_CREATING}, old = row_of(ACCOUNT_ACTIVE);
    assert_true(account_state_after_gap(&active, &absent, 200, false, false));
    assert_int_equal(active.state, ACCOUNT_QUARANTINED);
    assert_string_equal(active.reason, "it is missing on the network");
    assert_true(account_state_after_gap(&retiring, &absent, 200, false, false));
    assert_int_equal(retiring.state, ACCOUNT_RETIRED);
    assert_false(account_state_after_gap(&creating, &absent, 200, false, false));
    assert_int_equal(creating.state, ACCOUNT_CREATING);
    assert_false(account_state_after_gap(&old, &absent, 100, false, false)); /* the row is newer */
    assert_int_equal(old.state, ACCOUNT_ACTIVE);
}

static void after_a_gap_an_existing_account_takes_over_the_networks_sequence_number(void **state)
{
    (void)state;
    const struct ledger_account account = seen(41);
    struct account_row creating = {.state = ACCOUNT_CREATING}, leased = row_of(ACCOUNT_ACTIVE),
                       foreign = row_of(ACCOUNT_ACTIVE);
    assert_true(account_state_after_gap(&creating, &account, 200, false, false));
    assert_true(creating.state == ACCOUNT_ACTIVE && creating.known && creating.sequence == 41);
    assert_true(account_state_after_gap(&leased, &account, 200, true, false));
    assert_true(leased.state == ACCOUNT_ACTIVE && leased.sequence_ledger == 200);
    assert_true(account_state_after_gap(&foreign, &account, 200, false, false));
    assert_int_equal(foreign.state, ACCOUNT_QUARANTINED);
}

static void a_frozen_account_is_quarantined_and_keeps_an_earlier_reason(void **state)
{
    (void)state;
    static const enum account_state states[] = {ACCOUNT_CREATING, ACCOUNT_ACTIVE, ACCOUNT_RETIRING};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct account_row row = row_of(states[i]);
        assert_true(account_state_freeze(&row));
        assert_int_equal(row.state, ACCOUNT_QUARANTINED);
        assert_string_equal(row.reason, "the network froze it");
        assert_int_equal(row.sequence, 40);
        assert_false(account_state_freeze(&row));
    }
    struct account_row retired = row_of(ACCOUNT_RETIRED);
    assert_false(account_state_freeze(&retired));
    assert_int_equal(retired.state, ACCOUNT_RETIRED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confirmed_lease_changes_the_sequence_number_only),
        cmocka_unit_test(a_ledger_that_is_not_above_the_rows_changes_nothing),
        cmocka_unit_test(a_change_without_a_sequence_number_only_moves_the_ledger),
        cmocka_unit_test(a_sequence_number_that_a_foreign_transaction_consumed_quarantines),
        cmocka_unit_test(DR10_while_grants_are_on_hold_unknown_transactions_and_removals_quarantine_nothing),
        cmocka_unit_test(changed_signers_quarantine),
        cmocka_unit_test(the_ledger_that_creates_an_account_activates_it_with_its_sequence_number),
        cmocka_unit_test(removal_retires_a_retiring_account_and_quarantines_others),
        cmocka_unit_test(a_quarantined_account_keeps_its_first_reason),
        cmocka_unit_test(every_state_has_one_name),
        cmocka_unit_test(every_status_has_one_name_and_one_state),
        cmocka_unit_test(a_lower_sequence_number_quarantines),
        cmocka_unit_test(after_a_gap_a_missing_account_is_quarantined_or_retired_or_stays_to_be_created),
        cmocka_unit_test(after_a_gap_an_existing_account_takes_over_the_networks_sequence_number),
        cmocka_unit_test(a_frozen_account_is_quarantined_and_keeps_an_earlier_reason),
    };
    return cmocka_run_group_tests_name("pool/account_state", tests, NULL, NULL);
}
