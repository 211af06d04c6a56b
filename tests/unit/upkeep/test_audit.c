/* The audit: which step is next, and what a read means for an account's row. */
#include "check.h"

#include <string.h>

#include "upkeep/audit.h"
#include "base/mem.h"

#define PAUSE_MS 1000
#define NOW_MS 50000
#define READ 100 /* the ledger as of which accounts were read */

/* ---- the steps */

static struct audit_plan begun(void)
{
    return (struct audit_plan){.pause_ms = PAUSE_MS, .frozen_from = 1};
}

static void a_pass_reads_the_frozen_keys_and_then_accounts_each_after_a_pause(void **state)
{
    struct audit_plan plan = begun();
    assert_int_equal(audit_plan_next(&plan, NOW_MS), AUDIT_READ_FROZEN);
    audit_plan_note(&plan, AUDIT_READ_FROZEN, ERR_OK, 0, false, NOW_MS);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS - 1), AUDIT_WAIT);
    for (int batch = 0; batch < 2; batch++) {
        assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ);
        audit_plan_note(&plan, AUDIT_READ, ERR_OK, READ, false, NOW_MS);
        assert_int_equal(audit_plan_next(&plan, NOW_MS), AUDIT_COMPARE);
        audit_plan_note(&plan, AUDIT_COMPARE, ERR_OK, 0, batch == 1, NOW_MS);
        assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS - 1), AUDIT_WAIT);
    }
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ_FROZEN); /* the next pass */
}

static void an_empty_pool_is_a_complete_pass(void **state)
{
    struct audit_plan plan = begun();
    plan.frozen_from = 0;
    audit_plan_note(&plan, AUDIT_READ, ERR_OK, 0, true, NOW_MS);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ_FROZEN);
}

static void a_step_that_failed_is_repeated_after_a_pause(void **state)
{
    struct audit_plan plan = begun();
    audit_plan_note(&plan, AUDIT_READ_FROZEN, ERR_RPC_UNAVAILABLE, 0, true, NOW_MS);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS - 1), AUDIT_WAIT);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ_FROZEN);
    plan.frozen_from = 0;
    audit_plan_note(&plan, AUDIT_READ, ERR_RPC_UNAVAILABLE, READ, true, NOW_MS);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ);
    plan.read_ledger = READ;
    audit_plan_note(&plan, AUDIT_COMPARE, ERR_DATABASE_UNAVAILABLE, 0, true, NOW_MS);
    assert_int_equal(audit_plan_next(&plan, NOW_MS + PAUSE_MS), AUDIT_READ);
}

/* An RPC may name a ledger that never comes. */
static void a_read_waits_for_its_ledger_and_is_dropped_when_that_is_not_committed(void **state)
{
    struct audit_plan plan = begun();
    int64_t now_ms = NOW_MS;
    plan.frozen_from = 0;
    audit_plan_note(&plan, AUDIT_READ, ERR_OK, READ, false, now_ms);
    audit_plan_note(&plan, AUDIT_COMPARE, ERR_NOT_YET, 0, false, now_ms);
    assert_int_equal(audit_plan_next(&plan, now_ms), AUDIT_WAIT);
    for (; audit_plan_next(&plan, now_ms) != AUDIT_READ; now_ms += 100) {
        assert_true(now_ms < NOW_MS + 100000);
        const enum audit_step step = audit_plan_next(&plan, now_ms);
        audit_plan_note(&plan, step, step == AUDIT_COMPARE ? ERR_NOT_YET : ERR_OK, 0, true, now_ms);
    }
    assert_true(now_ms >= NOW_MS + 60000);
}

/* ---- what a read means */

static struct account_row idle(void)
{
    return (struct account_row){
        .state = ACCOUNT_ACTIVE, .known = true, .sequence = 7, .sequence_ledger = READ - 5};
}

static struct account_snapshot as_of(uint32_t ledger)
{
    return (struct account_snapshot){.account = {.sequence = 7, .own_authority = true}, .ledger = ledger};
}

static void assert_differs(
    const struct account_row *row, const struct account_snapshot *read, const char *words)
{
    const char *reason = audit_judge(row, read);
    assert_non_null(reason);
    assert_non_null(strstr(reason, words));
}

static void an_account_that_is_as_its_row_says_is_left_alone(void **state)
{
    const struct account_row row = idle();
    const struct account_snapshot read = as_of(READ);
    assert_null(audit_judge(&row, &read));
}

static void another_sequence_number_other_signers_and_a_missing_account_differ(void **state)
{
    const enum account_state states[] = {ACCOUNT_ACTIVE, ACCOUNT_RETIRING};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        struct account_row row = idle();
        struct account_snapshot ahead = as_of(READ), back = ahead, signers = ahead, gone = ahead;
        row.state = states[i];
        ahead.account.sequence = 8;
        back.account.sequence = 6;
        signers.account.own_authority = false;
        gone.account = (struct account_entry){.removed = true};
        assert_differs(&row, &back, "went back");
        assert_differs(&row, &signers, "signers");
        if (row.state == ACCOUNT_ACTIVE) { /* a retiring one is merged, or was, whoever used it */
            assert_differs(&row, &ahead, "did not sign");
            assert_differs(&row, &gone, "missing");
        }
    }
}

/* The RPC may have named an earlier ledger than the one as of which it answers. */
static void the_sequence_number_of_the_open_lease_does_not_differ(void **state)
{
    struct account_row row = idle();
    struct account_snapshot read = as_of(READ);
    row.lease_sequence = read.account.sequence = 8;
    assert_null(audit_judge(&row, &read));
    read.account.sequence = 9;
    assert_differs(&row, &read, "did not sign");
    read.account.sequence = 8;
    read.account.own_authority = false;
    assert_differs(&row, &read, "signers");
}

static void a_row_that_is_not_older_than_the_read_is_not_compared(void **state)
{
    struct account_row row = idle();
    struct account_snapshot reads[] = {as_of(READ), as_of(READ), as_of(READ)};
    reads[0].account.sequence = 9;
    reads[1].account.own_authority = false;
    reads[2].account.removed = true;
    for (size_t i = 0; i < ARRAY_LEN(reads); i++)
        for (row.sequence_ledger = READ; row.sequence_ledger <= READ + 1; row.sequence_ledger++)
            assert_null(audit_judge(&row, &reads[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_reads_the_frozen_keys_and_then_accounts_each_after_a_pause),
        cmocka_unit_test(an_empty_pool_is_a_complete_pass),
        cmocka_unit_test(a_step_that_failed_is_repeated_after_a_pause),
        cmocka_unit_test(a_read_waits_for_its_ledger_and_is_dropped_when_that_is_not_committed),
        cmocka_unit_test(an_account_that_is_as_its_row_says_is_left_alone),
        cmocka_unit_test(another_sequence_number_other_signers_and_a_missing_account_differ),
        cmocka_unit_test(the_sequence_number_of_the_open_lease_does_not_differ),
        cmocka_unit_test(a_row_that_is_not_older_than_the_read_is_not_compared),
    };
    return cmocka_run_group_tests_name("upkeep/audit", tests, NULL, NULL);
}
