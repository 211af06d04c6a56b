#include "stellar/provisioning_tx.h"

#include <assert.h>

#include "wire.h"

enum {
    CREATE_ACCOUNT = 0,
    ACCOUNT_MERGE = 8,
    BEGIN_SPONSORING_FUTURE_RESERVES = 16,
    END_SPONSORING_FUTURE_RESERVES = 17,
};

static void operation_begin(struct buf *out, const struct public_key *source, uint32_t kind)
{
    buf_add_u32(out, 1);
    account_add(out, source);
    buf_add_u32(out, kind);
}

static void creation_add(
    struct buf *out, const struct public_key *distribution, const struct public_key *account)
{
    operation_begin(out, distribution, BEGIN_SPONSORING_FUTURE_RESERVES);
    account_add(out, account);
    operation_begin(out, distribution, CREATE_ACCOUNT);
    account_add(out, account);
    buf_add_u64(out, 0); /* startingBalance: the sponsor bears the reserve */
    operation_begin(out, account, END_SPONSORING_FUTURE_RESERVES);
}

static void merge_add(
    struct buf *out, const struct public_key *distribution, const struct public_key *account)
{
    operation_begin(out, account, ACCOUNT_MERGE);
    account_add(out, distribution);
}

void provisioning_tx_build(const struct provisioning_tx *template, struct buf *out)
{
    bool creation = template->kind == PROVISIONING_CREATION;
    assert(template->account_count >= 1 && template->account_count <= PROVISIONING_ACCOUNTS_MAX);
    assert(template->max_time_s != 0);
    account_add(out, &template->distribution);
    buf_add_u32(out, template->fee_stroops);
    buf_add_u64(out, (uint64_t) template->sequence);
    buf_add_u32(out, PRECOND_TIME);
    buf_add_u64(out, 0);
    buf_add_u64(out, template->max_time_s);
    buf_add_u32(out, 0); /* MEMO_NONE */
    buf_add_u32(out, (uint32_t) template->account_count * (creation ? 3 : 1));
    for (size_t i = 0; i < template->account_count; i++)
        (creation ? creation_add : merge_add)(out, &template->distribution, &template->accounts[i]);
    buf_add_u32(out, 0); /* ext */
}

void provisioning_tx_envelope_build(struct bytes transaction, const struct public_key signers[],
    const struct signature signatures[], size_t count, struct buf *out)
{
    assert(count <= SIGNATURES_MAX);
    buf_add_u32(out, ENVELOPE_TYPE_TX);
    buf_add_bytes(out, transaction);
    signatures_add(out, signers, signatures, count);
}
