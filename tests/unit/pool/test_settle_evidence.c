/* What a ledger says about an account: of which transactions it was the source, and of which operations. */
#include "check.h"
#include "base/mem.h"
#include "pool/settle_evidence.h"

static const struct public_key account = {{7}}, other = {{8}};
static const struct hash pending_hash = {{1}};

/* The evidence about account 7 of a ledger with two transactions, both of account 8: hash 1, and a fee bump
 * of hash 2. Its operations are the given one of one of them, and others about account 8. */
static struct account_evidence of_operation(
    enum ledger_deed deed, uint32_t transaction, const struct hash *pending)
{
    struct ledger_transaction transactions[] = {
        {.hash = pending_hash, .source = other, .sequence = 5, .consumed = true},
        {.hash = {{3}}, .fee_bump = true, .inner_hash = {{2}}, .source = other, .sequence = 6}};
    struct ledger_operation operations[] = {{DEED_OTHER, 0, other}, {deed, transaction, account},
        {DEED_MERGED, 1, other}, {DEED_ENDED_SPONSORING, 1, other}};
    const struct ledger ledger = {.sequence = 101,
        .transactions = transactions,
        .transaction_count = ARRAY_LEN(transactions),
        .operations = operations,
        .operation_count = ARRAY_LEN(operations)};
    struct provisioning_pending items[2] = {{.hash = {{99}}}}; /* and another one */
    const struct provisioning_list provisioning = {items, pending != NULL ? 2 : 1};
    if (pending != NULL)
        items[1].hash = *pending;
    struct settle_evidence evidence CLEANUP(settle_evidence_free) =
        settle_evidence_of_ledger(&ledger, &provisioning);
    assert_int_equal(evidence.account_count, 2); /* each once, sorted */
    assert_true(public_key_equal(&evidence.accounts[1].key, &other));
    assert_true(evidence.accounts[1].merged && !evidence.accounts[1].created);
    assert_int_equal(evidence.accounts[1].consumed, 5);
    assert_int_equal(evidence.accounts[0].consumed, 0);
    assert_string_equal(evidence.addresses[0], evidence.accounts[0].address);
    return evidence.accounts[0];
}

TEST(each_deed_counts_for_its_account_alone)
{
    struct account_evidence seen = of_operation(DEED_CREATED, 0, NULL);
    assert_true(seen.created && !seen.merged && !seen.ended_sponsoring && !seen.acted);
    seen = of_operation(DEED_MERGED, 0, NULL);
    assert_true(seen.merged && !seen.created && !seen.ended_sponsoring && !seen.acted);
    seen = of_operation(DEED_ENDED_SPONSORING, 0, NULL);
    assert_true(seen.ended_sponsoring && !seen.created && !seen.merged && !seen.acted);
    seen = of_operation(DEED_OTHER, 0, NULL);
    assert_true(seen.acted && !seen.created && !seen.merged && !seen.ended_sponsoring);
}

TEST(operations_of_the_pending_provisioning_are_fairways_own)
{
    const struct hash bumped = {{2}}, outer = {{3}};
    assert_true(of_operation(DEED_CREATED, 0, &pending_hash).created);
    assert_true(of_operation(DEED_MERGED, 0, &pending_hash).merged);
    assert_false(of_operation(DEED_ENDED_SPONSORING, 0, &pending_hash).ended_sponsoring);
    assert_false(of_operation(DEED_OTHER, 0, &pending_hash).acted);
    assert_true(of_operation(DEED_OTHER, 1, &pending_hash).acted);
    assert_true(of_operation(DEED_ENDED_SPONSORING, 1, &pending_hash).ended_sponsoring);
    assert_false(of_operation(DEED_OTHER, 1, &bumped).acted); /* anybody may pay for it by a fee bump */
    assert_true(of_operation(DEED_OTHER, 1, &outer).acted);
}
