/* The names of account states, and how ledgers change an account's row. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "pool/account_state.h"

static struct account_row row_of(enum account_state state)
{
    return (struct account_row){.state = state, .known = true, .sequence = 40, .sequence_ledger = 100};
}

static struct ledger_account seen(int64_t sequence)
{
    return (struct ledger_account){.sequence = sequence, .own_authority = true};
}

/* Ledger 101, which the metadata says left the account as seen. */
static struct account_news claim(const struct ledger_account *seen)
{
    return (struct account_news){.ledger = 101, .seen = seen};
}

/* A claim that a read as of ledger 103 confirms. */
static struct account_news confirmed(const struct ledger_account *seen)
{
    return (struct account_news){.ledger = 101, .seen = seen, .read = seen, .read_ledger = 103};
}

static enum account_verdict apply(struct account_row *row, struct account_news news)
{
    return account_state_after_ledger(row, &news);
}

/* ---- what a ledger proves */

static void a_confirmed_lease_changes_the_sequence_number_only(void **state)
{
    struct ledger_account account = seen(41);
    struct account_news news = {.ledger = 101, .consumed = 41, .ours = true};
    for (int with_metadata = 0; with_metadata <= 1; with_metadata++) {
        struct account_row row = row_of(ACCOUNT_ACTIVE);
        news.seen = with_metadata ? &account : NULL;
        assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
        assert_int_equal(row.state, ACCOUNT_ACTIVE);
        assert_int_equal(row.sequence, 41);
        assert_int_equal(row.sequence_ledger, 101);
    }
}

static void a_ledger_that_is_not_above_the_rows_changes_nothing(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(90);
    for (uint32_t ledger = 99; ledger <= 100; ledger++) {
        struct account_news news = {.ledger = ledger, .consumed = 40, .seen = &account};
        assert_int_equal(apply(&row, news), ACCOUNT_SAME);
    }
    assert_int_equal(row.sequence, 40);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
}

/* Otherwise an RPC that names a ledger far ahead in one read leaves the account at a number for ever that its
 * next lease consumes. */
static void a_proof_counts_more_than_a_read_that_named_a_later_ledger(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), foreign = row, gap = row;
    const struct ledger_account account = seen(41);
    row.sequence_ledger = foreign.sequence_ledger = gap.sequence_ledger = UINT32_MAX;
    struct account_news news = {.ledger = 101, .consumed = 41, .ours = true, .seen = &account};
    assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 41);
    assert_int_equal(row.sequence_ledger, 101);
    news.ours = false;
    assert_int_equal(apply(&foreign, news), ACCOUNT_CHANGED);
    assert_int_equal(foreign.state, ACCOUNT_QUARANTINED);
    assert_true(account_state_after_gap(&gap, &account, 200, true, false));
    assert_true(gap.state == ACCOUNT_ACTIVE && gap.sequence == 41 && gap.sequence_ledger == 200);
}

static void a_sequence_number_that_a_foreign_transaction_consumed_quarantines(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), retiring = row_of(ACCOUNT_RETIRING);
    const struct account_news news = {.ledger = 101, .consumed = 41};
    assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_non_null(row.reason);
    assert_int_equal(row.sequence, 41);
    assert_int_equal(apply(&retiring, news), ACCOUNT_CHANGED);
    assert_int_equal(retiring.state, ACCOUNT_RETIRING);
}

static void a_submission_that_succeeded_creates_and_merges_its_accounts(void **state)
{
    struct account_row creating = {.state = ACCOUNT_CREATING}, retiring = row_of(ACCOUNT_RETIRING),
                       active = row_of(ACCOUNT_ACTIVE);
    struct ledger_account created = seen((int64_t)101 << 32), gone = {.removed = true};
    struct account_news news = {.ledger = 101, .submitted = true, .seen = &created};
    assert_int_equal(apply(&creating, news), ACCOUNT_CHANGED);
    assert_int_equal(creating.state, ACCOUNT_ACTIVE);
    assert_true(creating.known && creating.sequence == (int64_t)101 << 32);
    news.seen = &gone;
    assert_int_equal(apply(&retiring, news), ACCOUNT_CHANGED);
    assert_int_equal(retiring.state, ACCOUNT_RETIRED);
    news.seen = NULL;
    assert_int_equal(apply(&active, news), ACCOUNT_SAME);
}

/* ---- what the metadata claims */

/* A payment to the account, or sponsorship. */
static void a_claim_of_what_is_known_changes_nothing(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE), creating = {.state = ACCOUNT_CREATING};
    struct ledger_account account = seen(40), gone = {.removed = true};
    assert_int_equal(apply(&row, claim(&account)), ACCOUNT_SAME);
    assert_int_equal(apply(&creating, claim(&gone)), ACCOUNT_SAME);
    assert_int_equal(row.sequence_ledger, 100);
}

static void other_claims_have_to_be_read_and_count_for_nothing_when_the_read_refutes_them(void **state)
{
    const struct ledger_account same = seen(40),
                                changes[] = {seen(39), seen(41), {.sequence = 40}, {.removed = true}};
    static const enum account_state states[] = {ACCOUNT_ACTIVE, ACCOUNT_RETIRING};
    for (size_t s = 0; s < ARRAY_LEN(states); s++)
        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
            struct account_row row = row_of(states[s]), before = row;
            assert_int_equal(apply(&row, claim(&changes[i])), ACCOUNT_DOUBTFUL);
            row = before;
            struct account_news news = confirmed(&changes[i]);
            news.read = &same;
            assert_int_equal(apply(&row, news), ACCOUNT_REFUTED);
            assert_memory_equal(&row, &before, sizeof row);
        }
}

static void a_claim_beside_a_proved_transaction_has_to_be_read_too(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account bumped = seen(99), honest = seen(41);
    struct account_news news = confirmed(&bumped);
    news.consumed = 41;
    news.ours = true;
    news.read = NULL;
    assert_int_equal(apply(&row, news), ACCOUNT_DOUBTFUL);
    row = row_of(ACCOUNT_ACTIVE);
    news.read = &honest;
    assert_int_equal(apply(&row, news), ACCOUNT_REFUTED);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 41); /* proved */
    row = row_of(ACCOUNT_ACTIVE);
    news.read = &bumped;
    assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
}

/* The network may be ahead: the read may have the transaction of the open lease. */
static void the_sequence_number_of_the_open_lease_confirms_nothing(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(41), higher = seen(42);
    row.lease_sequence = 41;
    assert_int_equal(apply(&row, confirmed(&account)), ACCOUNT_REFUTED);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_int_equal(row.sequence, 40);
    assert_int_equal(apply(&row, confirmed(&higher)), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
}

/* BumpSequence of another transaction, which needs the account's signature. As of this very ledger, the
 * lease's transaction cannot have consumed the number. The account would keep a number that is consumed. */
static void the_sequence_number_of_the_open_lease_as_of_this_ledger_quarantines(void **state)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    struct ledger_account account = seen(41);
    struct account_news news = confirmed(&account);
    row.lease_sequence = 41;
    news.read_ledger = news.ledger;
    assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_int_equal(row.sequence, 41);
}

static void a_confirmed_change_quarantines(void **state)
{
    const struct {
        struct ledger_account seen;
        const char *reason;
    } cases[] = {
        {seen(41), "consumed by a transaction that fairway did not sign"},
        {seen(39), "went back"}, /* merged and created again, or another network */
        {{.sequence = 40}, "signers or thresholds"},
        {{.removed = true}, "the network removed the account"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct account_row row = row_of(ACCOUNT_ACTIVE);
        assert_int_equal(apply(&row, confirmed(&cases[i].seen)), ACCOUNT_CHANGED);
        assert_int_equal(row.state, ACCOUNT_QUARANTINED);
        assert_non_null(strstr(row.reason, cases[i].reason));
        assert_int_equal(row.sequence, cases[i].seen.removed ? 40 : cases[i].seen.sequence);
    }
}

/* After the database has forgotten the submission. */
static void a_confirmed_creation_activates_an_account_with_its_sequence_number(void **state)
{
    struct account_row row = {.state = ACCOUNT_CREATING}, absent = row;
    struct ledger_account account = seen((int64_t)101 << 32), gone = {.removed = true};
    assert_int_equal(apply(&row, claim(&account)), ACCOUNT_DOUBTFUL);
    row = absent;
    assert_int_equal(apply(&row, confirmed(&account)), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_ACTIVE);
    assert_true(row.known && row.sequence == (int64_t)101 << 32);
    struct account_news news = confirmed(&account);
    news.read = &gone;
    assert_int_equal(apply(&absent, news), ACCOUNT_REFUTED);
    assert_int_equal(absent.state, ACCOUNT_CREATING);
}

static void a_confirmed_removal_retires_a_retiring_account_unless_it_is_leased(void **state)
{
    struct ledger_account gone = {.removed = true};
    struct account_row row = row_of(ACCOUNT_RETIRING), leased = row;
    assert_int_equal(apply(&row, confirmed(&gone)), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_RETIRED);
    leased.lease_sequence = 41;
    assert_int_equal(apply(&leased, confirmed(&gone)), ACCOUNT_CHANGED);
    assert_int_equal(leased.state, ACCOUNT_QUARANTINED);
}

static void a_quarantined_account_keeps_its_first_reason_and_needs_no_read(void **state)
{
    struct account_row row = row_of(ACCOUNT_QUARANTINED);
    struct ledger_account account = {.sequence = 90};
    struct account_news news = claim(&account);
    assert_int_equal(apply(&row, news), ACCOUNT_SAME);
    news.consumed = 41;
    assert_int_equal(apply(&row, news), ACCOUNT_CHANGED);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
    assert_null(row.reason);
    assert_int_equal(row.sequence, 41);
}

/* ---- claims that cannot be read */

static struct account_row unread_row(void)
{
    struct account_row row = row_of(ACCOUNT_ACTIVE);
    assert_true(account_state_unread(&row));
    assert_true(row.state == ACCOUNT_QUARANTINED && row.unread && row.sequence == 40);
    assert_string_equal(row.reason, ACCOUNT_UNREAD_REASON);
    row.reason = NULL;
    return row;
}

static void only_an_active_account_is_quarantined_as_unread(void **state)
{
    static const enum account_state others[] = {
        ACCOUNT_CREATING, ACCOUNT_RETIRING, ACCOUNT_RETIRED, ACCOUNT_QUARANTINED};
    unread_row();
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct account_row row = row_of(others[i]), before = row;
        assert_false(account_state_unread(&row));
        assert_memory_equal(&row, &before, sizeof row);
    }
}

/* An RPC that invents the same entry in each ledger costs no read in each ledger. */
static void an_unread_account_is_read_when_it_is_time_and_not_for_each_claim(void **state)
{
    struct account_row row = unread_row();
    struct ledger_account account = seen(60);
    struct account_news news = claim(&account);
    assert_int_equal(apply(&row, news), ACCOUNT_SAME);
    news.seen = NULL;
    news.reread = true;
    assert_int_equal(apply(&row, news), ACCOUNT_DOUBTFUL);
    assert_true(row.state == ACCOUNT_QUARANTINED && row.unread);
}

static struct account_news read_again(const struct ledger_account *read)
{
    return (struct account_news){.ledger = 101, .reread = true, .read = read, .read_ledger = 103};
}

static void a_read_that_shows_no_change_ends_the_quarantine_of_an_unread_account(void **state)
{
    struct ledger_account same = seen(40), included = seen(41);
    struct account_row row = unread_row(), leased = unread_row(), consumed = unread_row();
    assert_int_equal(apply(&row, read_again(&same)), ACCOUNT_CHANGED);
    assert_true(row.state == ACCOUNT_ACTIVE && !row.unread && row.sequence == 40);
    leased.lease_sequence = 41; /* which the network, ahead of the ledger, has included */
    assert_int_equal(apply(&leased, read_again(&included)), ACCOUNT_CHANGED);
    assert_true(leased.state == ACCOUNT_ACTIVE && leased.sequence == 40);
    struct account_news news = read_again(&included);
    news.consumed = 41;
    news.ours = true;
    assert_int_equal(apply(&consumed, news), ACCOUNT_CHANGED);
    assert_true(consumed.state == ACCOUNT_ACTIVE && consumed.sequence == 41);
}

static void a_change_of_an_unread_account_quarantines_it_for_good(void **state)
{
    const struct {
        struct ledger_account read;
        const char *reason;
    } cases[] = {{seen(60), "did not sign"}, {seen(39), "went back"}, {{.sequence = 40}, "signers"},
        {{.removed = true}, "removed"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct account_row row = unread_row(), gap = unread_row();
        assert_int_equal(apply(&row, read_again(&cases[i].read)), ACCOUNT_CHANGED);
        assert_true(row.state == ACCOUNT_QUARANTINED && !row.unread);
        assert_non_null(strstr(row.reason, cases[i].reason));
        assert_true(account_state_after_gap(&gap, &cases[i].read, 200, false, false));
        assert_true(gap.state == ACCOUNT_QUARANTINED && !gap.unread && gap.reason != NULL);
    }
    struct account_row row = unread_row();
    assert_true(account_state_freeze(&row));
    assert_true(row.state == ACCOUNT_QUARANTINED && !row.unread);
    assert_string_equal(row.reason, "the network froze it");
    const struct ledger_account same = seen(40);
    struct account_row gap = unread_row();
    assert_true(account_state_after_gap(&gap, &same, 200, false, false));
    assert_int_equal(gap.state, ACCOUNT_ACTIVE);
}

/* Else the next read, which finds the number that the ledger proved, would release it. */
static void a_foreign_transaction_of_an_unread_account_quarantines_it_for_good(void **state)
{
    struct account_row row = unread_row();
    const struct ledger_account same = seen(41);
    assert_int_equal(apply(&row, (struct account_news){.ledger = 101, .consumed = 41}), ACCOUNT_CHANGED);
    assert_true(row.state == ACCOUNT_QUARANTINED && !row.unread);
    assert_non_null(strstr(row.reason, "did not sign"));
    struct account_news news = read_again(&same);
    news.ledger = 102;
    assert_int_equal(apply(&row, news), ACCOUNT_SAME);
    assert_int_equal(row.state, ACCOUNT_QUARANTINED);
}

static void DR10_while_grants_are_on_hold_unknown_transactions_and_removals_quarantine_nothing(void **state)
{
    struct account_row used = row_of(ACCOUNT_ACTIVE), removed = used, foreign = used;
    struct ledger_account gone = {.removed = true}, taken = {.sequence = 40};
    struct account_news news = {.ledger = 101, .on_hold = true, .consumed = 41};
    assert_int_equal(apply(&used, news), ACCOUNT_CHANGED);
    assert_int_equal(used.state, ACCOUNT_ACTIVE);
    assert_int_equal(used.sequence, 41);
    news = confirmed(&gone);
    news.on_hold = true;
    assert_int_equal(apply(&removed, news), ACCOUNT_CHANGED);
    assert_int_equal(removed.state, ACCOUNT_RETIRED);
    news = confirmed(&taken);
    news.on_hold = true;
    assert_int_equal(apply(&foreign, news), ACCOUNT_CHANGED);
    assert_int_equal(
        foreign.state, ACCOUNT_QUARANTINED); /* others can sign for it: no lease may be granted */
}

static void every_status_has_one_name_and_one_state(void **state)
{
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
    enum account_state parsed;
    for (int s = ACCOUNT_CREATING; s <= ACCOUNT_QUARANTINED; s++) {
        assert_int_equal(account_state_parse(account_state_name((enum account_state)s), &parsed), ERR_OK);
        assert_int_equal(parsed, s);
    }
    assert_int_equal(account_state_parse("idle", &parsed), ERR_MALFORMED);
}

static void after_a_gap_a_missing_account_is_quarantined_or_retired_or_stays_to_be_created(void **state)
{
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
        cmocka_unit_test(a_proof_counts_more_than_a_read_that_named_a_later_ledger),
        cmocka_unit_test(a_sequence_number_that_a_foreign_transaction_consumed_quarantines),
        cmocka_unit_test(a_submission_that_succeeded_creates_and_merges_its_accounts),
        cmocka_unit_test(a_claim_of_what_is_known_changes_nothing),
        cmocka_unit_test(other_claims_have_to_be_read_and_count_for_nothing_when_the_read_refutes_them),
        cmocka_unit_test(a_claim_beside_a_proved_transaction_has_to_be_read_too),
        cmocka_unit_test(the_sequence_number_of_the_open_lease_confirms_nothing),
        cmocka_unit_test(the_sequence_number_of_the_open_lease_as_of_this_ledger_quarantines),
        cmocka_unit_test(a_confirmed_change_quarantines),
        cmocka_unit_test(a_confirmed_creation_activates_an_account_with_its_sequence_number),
        cmocka_unit_test(a_confirmed_removal_retires_a_retiring_account_unless_it_is_leased),
        cmocka_unit_test(a_quarantined_account_keeps_its_first_reason_and_needs_no_read),
        cmocka_unit_test(only_an_active_account_is_quarantined_as_unread),
        cmocka_unit_test(an_unread_account_is_read_when_it_is_time_and_not_for_each_claim),
        cmocka_unit_test(a_read_that_shows_no_change_ends_the_quarantine_of_an_unread_account),
        cmocka_unit_test(a_change_of_an_unread_account_quarantines_it_for_good),
        cmocka_unit_test(a_foreign_transaction_of_an_unread_account_quarantines_it_for_good),
        cmocka_unit_test(DR10_while_grants_are_on_hold_unknown_transactions_and_removals_quarantine_nothing),
        cmocka_unit_test(every_state_has_one_name),
        cmocka_unit_test(every_status_has_one_name_and_one_state),
        cmocka_unit_test(after_a_gap_a_missing_account_is_quarantined_or_retired_or_stays_to_be_created),
        cmocka_unit_test(after_a_gap_an_existing_account_takes_over_the_networks_sequence_number),
        cmocka_unit_test(a_frozen_account_is_quarantined_and_keeps_an_earlier_reason),
    };
    return cmocka_run_group_tests_name("pool/account_state", tests, NULL, NULL);
}
