/* How a pending provisioning transaction ends: only ledgers decide. */
#include "check.h"
#include "base/mem.h"
#include "pool/provisioning.h"

#define TX_FAILED (-1)
#define TX_BAD_SEQ (-5)

static const struct provisioning_pending sent = {
    .id = 1, .hash = {{1}}, .sequence = 50, .max_time_s = 1000, .source = {{9}}};

static struct provisioning_fate judge(const struct ledger_transaction *transaction, uint64_t close_time_s)
{
    struct ledger_transaction transactions[] = {{.hash = {{7}}}, {.hash = {{8}}}};
    if (transaction != NULL)
        transactions[1] = *transaction;
    const struct ledger ledger = {.close_time_s = close_time_s,
        .transactions = transactions,
        .transaction_count = ARRAY_LEN(transactions)};
    return provisioning_judge(&sent, &ledger);
}

TEST(a_ledger_with_its_hash_decides_by_its_result)
{
    struct ledger_transaction found = {.hash = sent.hash};
    struct provisioning_fate fate = judge(&found, 10);
    assert_string_equal(fate.state, "succeeded");
    assert_string_equal(fate.result_code, "txSUCCESS");
    found.code = TX_FAILED;
    fate = judge(&found, 5000);
    assert_string_equal(fate.state, "failed");
    assert_string_equal(fate.result_code, "txFAILED");
    found.code = TX_BAD_SEQ;
    assert_string_equal(judge(&found, 10).result_code, "txBAD_SEQ");
}

TEST(in_a_fee_bump_the_inner_hash_and_result_decide)
{
    const struct ledger_transaction found = {
        .hash = {{77}}, .code = -13, .fee_bump = true, .inner_hash = sent.hash, .inner_code = TX_FAILED};
    assert_string_equal(judge(&found, 10).state, "failed");
    const struct ledger_transaction other = {.hash = sent.hash, .fee_bump = true, .inner_hash = {{5}}};
    assert_null(judge(&other, 10).state);
}

TEST(a_sequence_number_that_another_transaction_consumed_supersedes_it)
{
    struct ledger_transaction other = {
        .hash = {{8}}, .source = sent.source, .sequence = 49, .consumed = true};
    assert_null(judge(&other, 10).state);
    other.sequence = 50;
    assert_string_equal(judge(&other, 10).state, "superseded");
    assert_null(judge(&other, 10).result_code);
    other.consumed = false;
    assert_null(judge(&other, 10).state);
}

TEST(it_expires_with_a_ledger_that_closed_after_its_max_time)
{
    assert_null(judge(NULL, 999).state);
    assert_null(judge(NULL, 1000).state); /* CAP-88: the next ledger may still have this time */
    assert_string_equal(judge(NULL, 1001).state, "expired");
}

static struct provisioning_fate judge_gap(
    uint32_t found_ledger, int32_t code, int64_t source_sequence, bool done, uint64_t close_time_s)
{
    const struct account_entry source = {.sequence = source_sequence};
    const struct provisioning_snapshot snapshot = {
        .found_ledger = found_ledger, .code = code, .source = &source, .done = done};
    const struct ledger ledger = {.sequence = 200, .close_time_s = close_time_s};
    return provisioning_judge_after_gap(&sent, &snapshot, &ledger);
}

TEST(DR5_after_a_gap_a_result_decides_unless_its_ledger_is_not_ingested_yet)
{
    assert_string_equal(judge_gap(200, 0, 50, false, 10).state, "succeeded");
    assert_string_equal(judge_gap(150, TX_FAILED, 50, true, 10).state, "failed");
    assert_string_equal(judge_gap(150, TX_FAILED, 50, true, 10).result_code, "txFAILED");
    assert_null(judge_gap(201, 0, 50, true, 5000).state);
}

TEST(DR5_after_a_gap_without_a_result_the_accounts_decide)
{
    assert_string_equal(judge_gap(0, 0, 50, true, 10).state, "succeeded");
    assert_string_equal(judge_gap(0, 0, 50, true, 10).result_code, "txSUCCESS");
    assert_string_equal(judge_gap(0, 0, 51, false, 10).state, "superseded");
    assert_null(judge_gap(0, 0, 51, false, 10).result_code);
    assert_null(
        judge_gap(0, 0, 49, true, 10).state); /* the sequence number is free: it may still be included */
    assert_null(judge_gap(0, 0, 49, false, 1000).state);
    assert_string_equal(judge_gap(0, 0, 49, false, 1001).state, "expired");
    const struct account_entry gone = {.removed = true};
    const struct provisioning_snapshot snapshot = {.source = &gone};
    const struct ledger ledger = {.sequence = 200, .close_time_s = 10};
    assert_string_equal(provisioning_judge_after_gap(&sent, &snapshot, &ledger).state, "superseded");
}
