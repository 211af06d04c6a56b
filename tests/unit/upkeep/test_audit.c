/* What a read of the audit means for an account's row. */
#include "check.h"

#include <string.h>

#include "upkeep/audit.h"
#include "base/mem.h"

#define READ 100 /* the ledger as of which accounts were read */

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

TEST(an_account_that_is_as_its_row_says_is_left_alone)
{
    const struct account_row row = idle();
    const struct account_snapshot read = as_of(READ);
    assert_null(audit_judge(&row, &read));
}

TEST(another_sequence_number_other_signers_and_a_missing_account_differ)
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
TEST(the_sequence_number_of_the_open_lease_does_not_differ)
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

TEST(a_row_that_is_not_older_than_the_read_is_not_compared)
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
