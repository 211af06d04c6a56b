/* The names of account states, and how ledgers change an account's row. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "pool/account_state.h"

static struct account_row row_of(enum account_state state)
{
    return (struct account_row){.state = state, .known = true, .sequence = 40, .sequence_ledger = 100};
}

static struct account_entry seen(int64_t sequence)
{
    return (struct account_entry){.sequence = sequence, .own_authority = true};
}

static bool apply(struct account_row *row, struct account_news news)
{
    if (news.ledger == 0)
        news.ledger = 101;
    return account_state_after_ledger(row, &news);
}

TEST(a_confirmed_lease_changes_the_sequence_number_only)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    assert_true(apply(&row, (struct account_news){.consumed = 41, .ours = true}));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 41);
    assert_int_equal(row.sequence_ledger, 101);
    assert_null(row.reason);
}

/* A payment to the account, or a fee bump that it pays for: its balance is of no interest. */
TEST(a_ledger_that_names_the_account_otherwise_changes_nothing)
{
    static const enum account_state states[] = {
        ACCOUNT_CREATING, ACCOUNT_ACTIVE, ACCOUNT_RETIRING, ACCOUNT_RETIRED, ACCOUNT_QUARANTINED};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        struct account_row row = row_of(states[i]), before = row;
        assert_false(apply(&row, (struct account_news){0}));
        assert_memory_equal(&row, &before, sizeof row);
    }
}

TEST(a_ledger_that_is_not_above_the_rows_changes_nothing)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), before = row;
    for (uint32_t ledger = 99; ledger <= 100; ledger++) {
        assert_false(apply(&row, (struct account_news){.ledger = ledger, .consumed = 40}));
        assert_false(apply(&row, (struct account_news){.ledger = ledger, .foreign = true}));
        assert_false(apply(&row, (struct account_news){.ledger = ledger, .merged = true}));
    }
    row.sequence = before.sequence = (int64_t)100 << 32; /* read after its creation */
    assert_false(apply(&row, (struct account_news){.ledger = 100, .created = true}));
    assert_memory_equal(&row, &before, sizeof row);
}

/* Otherwise an RPC that names a ledger far ahead in one read leaves the account at a number for ever that its
 * next lease consumes. */
TEST(a_proof_counts_more_than_a_read_that_named_a_later_ledger)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), foreign = row, gap = row;
    const struct account_entry account = seen(41);
    row.sequence_ledger = foreign.sequence_ledger = gap.sequence_ledger = UINT32_MAX;
    assert_true(apply(&row, (struct account_news){.consumed = 41, .ours = true}));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 41);
    assert_int_equal(row.sequence_ledger, 101);
    assert_true(apply(&foreign, (struct account_news){.consumed = 41}));
    assert_int_equal(foreign.state, ACCOUNT_QUARANTINED);
    assert_true(account_state_after_gap(&gap, &account, 200, true, false));
    assert_true(gap.state == ACCOUNT_ACTIVE && gap.sequence == 41 && gap.sequence_ledger == 200);
}

TEST(a_sequence_number_that_a_foreign_transaction_consumed_quarantines)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), retiring = row_of(ACCOUNT_RETIRING);
    assert_true(apply(&row, (struct account_news){.consumed = 41}));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_non_null(strstr(row.reason, "consumed by a transaction that fairway did not sign"));
    assert_int_equal(row.sequence, 41);
    assert_true(apply(&retiring, (struct account_news){.consumed = 41}));
    assert_int_equal(retiring.state, ACCOUNT_RETIRING);
    assert_int_equal(retiring.sequence, 41);
}

TEST(an_operation_that_fairway_did_not_make_quarantines_also_beside_its_own_transaction)
{
    static const enum account_state states[] = {ACCOUNT_CREATING, ACCOUNT_ACTIVE, ACCOUNT_RETIRING};
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        for (int on_hold = 0; on_hold <= 1; on_hold++) {
            struct account_row row = row_of(states[i]), confirmed = row;
            assert_true(apply(&row, (struct account_news){.foreign = true, .on_hold = on_hold}));
            assert_int_equal(row.state, ACCOUNT_QUARANTINED);
            assert_string_equal(row.reason, "it is the source of an operation that fairway did not make");
            assert_int_equal(row.sequence, 40);
            const struct account_news both = {
                .foreign = true, .consumed = 41, .ours = true, .on_hold = on_hold};
            assert_true(apply(&confirmed, both));
            assert_int_equal(confirmed.state, ACCOUNT_QUARANTINED);
            assert_int_equal(confirmed.sequence, 41);
        }
}

TEST(a_creation_activates_an_account_with_the_first_sequence_number)
{
    struct account_row row = {.state = ACCOUNT_CREATING}, again = row_of(ACCOUNT_ACTIVE);
    assert_true(apply(&row, (struct account_news){.created = true}));
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_true(row.known && row.sequence == (int64_t)101 << 32 && row.sequence_ledger == 101);
    assert_true(apply(&again, (struct account_news){.created = true}));
    assert_int_equal(again.state, ACCOUNT_QUARANTINED);
    assert_non_null(strstr(again.reason, "another account under the same key"));
    assert_int_equal(again.sequence, (int64_t)101 << 32);
}

TEST(a_merge_retires_a_retiring_account_unless_it_is_leased_and_quarantines_others)
{
    const struct account_news merged = {.merged = true};
    struct account_row row = row_of(ACCOUNT_RETIRING), leased = row, active = row_of(ACCOUNT_ACTIVE);
    assert_true(apply(&row, merged));
    assert_int_equal(row.state, ACCOUNT_RETIRED);
    leased.lease_sequence = 41;
    assert_true(apply(&leased, merged));
    assert_int_equal(leased.state, ACCOUNT_QUARANTINED);
    assert_true(apply(&active, merged));
    assert_int_equal(active.state, ACCOUNT_QUARANTINED);
    assert_string_equal(active.reason, "the network removed the account");
}

/* Whatever the order was in the ledger. */
TEST(an_account_that_is_merged_in_the_ledger_that_creates_it_is_never_active)
{
    const struct account_news both = {.created = true, .merged = true};
    struct account_row creating = {.state = ACCOUNT_CREATING}, active = row_of(ACCOUNT_ACTIVE),
                       retiring = row_of(ACCOUNT_RETIRING);
    assert_true(apply(&creating, both));
    assert_int_equal(creating.state, ACCOUNT_QUARANTINED);
    assert_true(apply(&active, both));
    assert_int_equal(active.state, ACCOUNT_QUARANTINED);
    assert_true(apply(&retiring, both)); /* somebody has paid for an account that nobody uses */
    assert_int_equal(retiring.state, ACCOUNT_RETIRED);
}

/* Else it would come back by itself when its sequence number had been used before (account_change.h). */
TEST(a_quarantined_account_that_is_created_again_has_that_as_its_reason)
{
    struct account_row row = row_of(ACCOUNT_QUARANTINED), moved = row_of(ACCOUNT_ACTIVE), created = {0};
    assert_true(apply(&row, (struct account_news){.merged = true, .created = true}));
    assert_true(apply(&moved, (struct account_news){.consumed = 41, .merged = true, .created = true}));
    assert_non_null(row.reason);
    assert_non_null(strstr(row.reason, "created again"));
    assert_string_equal(moved.reason, row.reason);
    created.state = ACCOUNT_QUARANTINED; /* before it existed: its seed does not open, for example */
    assert_true(apply(&created, (struct account_news){.created = true}));
    assert_null(created.reason);
}

TEST(a_quarantined_account_keeps_its_first_reason)
{
    struct account_row row = row_of(ACCOUNT_QUARANTINED);
    assert_false(apply(&row, (struct account_news){.foreign = true, .merged = true}));
    assert_true(apply(&row, (struct account_news){.consumed = 41, .foreign = true}));
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_null(row.reason);
    assert_int_equal(row.sequence, 41);
}

TEST(DR10_while_grants_are_on_hold_unknown_transactions_creations_and_merges_quarantine_nothing)
{
    struct account_row used = row_of(ACCOUNT_ACTIVE), removed = used,
                       quarantined = row_of(ACCOUNT_QUARANTINED), created = {.state = ACCOUNT_CREATING};
    assert_true(apply(&used, (struct account_news){.on_hold = true, .consumed = 41}));
    assert_int_equal(used.state, ACCOUNT_ACTIVE);
    assert_int_equal(used.sequence, 41);
    assert_true(apply(&removed, (struct account_news){.on_hold = true, .merged = true}));
    assert_int_equal(removed.state, ACCOUNT_RETIRED);
    assert_true(apply(&quarantined, (struct account_news){.on_hold = true, .merged = true}));
    assert_int_equal(quarantined.state, ACCOUNT_RETIRED);
    assert_true(apply(&created, (struct account_news){.on_hold = true, .created = true}));
    assert_int_equal(created.state, ACCOUNT_ACTIVE);
}

TEST(every_state_has_one_name)
{
    enum account_state parsed;
    for (int s = ACCOUNT_CREATING; s <= ACCOUNT_QUARANTINED; s++) {
        assert_int_equal(account_state_parse(account_state_name((enum account_state)s), &parsed), ERR_OK);
        assert_int_equal(parsed, s);
    }
    assert_int_equal(account_state_parse("idle", &parsed), ERR_MALFORMED);
}

TEST(after_a_gap_a_missing_account_is_quarantined_or_retired_or_stays_to_be_created)
{
    const struct account_entry absent = {.removed = true};
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

TEST(after_a_gap_an_existing_account_takes_over_the_networks_sequence_number)
{
    const struct account_entry account = seen(41);
    struct account_row creating = {.state = ACCOUNT_CREATING}, leased = row_of(ACCOUNT_ACTIVE),
                       foreign = row_of(ACCOUNT_ACTIVE);
    assert_true(account_state_after_gap(&creating, &account, 200, false, false));
    assert_true(creating.state == ACCOUNT_ACTIVE && creating.known && creating.sequence == 41);
    assert_true(account_state_after_gap(&leased, &account, 200, true, false));
    assert_true(leased.state == ACCOUNT_ACTIVE && leased.sequence_ledger == 200);
    assert_true(account_state_after_gap(&foreign, &account, 200, false, false));
    assert_int_equal(foreign.state, ACCOUNT_QUARANTINED);
}

TEST(after_a_gap_changed_signers_and_a_number_that_went_back_quarantine)
{
    const struct account_entry taken = {.sequence = 40}, back = seen(39);
    for (int on_hold = 0; on_hold <= 1; on_hold++) {
        struct account_row signers = row_of(ACCOUNT_ACTIVE), other = signers;
        assert_true(account_state_after_gap(&signers, &taken, 200, false, on_hold));
        assert_int_equal(signers.state, ACCOUNT_QUARANTINED);
        assert_non_null(strstr(signers.reason, "signers or thresholds"));
        assert_true(account_state_after_gap(&other, &back, 200, false, on_hold));
        assert_int_equal(other.state, ACCOUNT_QUARANTINED);
        assert_non_null(strstr(other.reason, "went back"));
    }
}

TEST(a_frozen_account_is_quarantined_and_keeps_an_earlier_reason)
{
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
