/* Builds the transactions that fairway submits itself. They have fixed forms; none is ever decoded. */
#include "stellar/provisioning_tx.h"

#include "base/invariant.h"
#include "stellar/account.h"
#include "operation.h"
#include "wire.h"

static void operation_begin(struct buf *out, const struct public_key *source, uint32_t kind)
{
    buf_add_u32(out, 1);
    account_id_add(out, source);
    buf_add_u32(out, kind);
}

static void creation_add(
    struct buf *out, const struct public_key *distribution, const struct public_key *account)
{
    operation_begin(out, distribution, BEGIN_SPONSORING_FUTURE_RESERVES);
    account_id_add(out, account);
    operation_begin(out, distribution, CREATE_ACCOUNT);
    account_id_add(out, account);
    buf_add_u64(out, 0); /* startingBalance: the sponsor covers the reserve */
    operation_begin(out, account, END_SPONSORING_FUTURE_RESERVES);
}

static void merge_add(
    struct buf *out, const struct public_key *distribution, const struct public_key *account)
{
    operation_begin(out, account, ACCOUNT_MERGE);
    account_id_add(out, distribution);
}

size_t provisioning_tx_operations(enum provisioning_kind kind, size_t accounts, bool bumped)
{
    return accounts * (kind == PROVISIONING_CREATION ? 3 : 1) + bumped;
}

void provisioning_tx_build(const struct provisioning_tx *transaction, struct buf *out)
{
    bool creation = transaction->kind == PROVISIONING_CREATION;
    INVARIANT(transaction->account_count >= 1 && transaction->account_count <= PROVISIONING_ACCOUNTS_MAX);
    INVARIANT(transaction->max_time_s != 0);
    account_id_add(out, transaction->bumped ? &transaction->source : &transaction->distribution);
    buf_add_u32(out, transaction->bumped ? 0 : transaction->fee_stroops);
    buf_add_u64(out, (uint64_t)transaction->sequence);
    buf_add_u32(out, PRECOND_TIME);
    buf_add_u64(out, 0);
    buf_add_u64(out, transaction->max_time_s);
    buf_add_u32(out, 0); /* MEMO_NONE */
    buf_add_u32(
        out, (uint32_t)provisioning_tx_operations(transaction->kind, transaction->account_count, false));
    for (size_t i = 0; i < transaction->account_count; i++)
        (creation ? creation_add : merge_add)(out, &transaction->distribution, &transaction->accounts[i]);
    buf_add_u32(out, 0); /* ext */
}
