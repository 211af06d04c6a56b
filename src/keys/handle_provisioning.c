/* The message that signs creations and merges of channel accounts. */
#include "base/clock.h"
#include "handle.h"
#include "own_clock.h"
#include "stellar/envelope_build.h"
#include "wire.h"

static enum err read_provisioning(struct xdr_reader *request, uint64_t *now_s,
    struct provisioning_tx *provisioning, struct sealed_seed sealed[])
{
    uint32_t kind, count;
    enum err e;
    if ((e = xdr_u64(request, now_s)) != ERR_OK || (e = xdr_u32(request, &kind)) != ERR_OK ||
        (e = xdr_opaque(
             request, provisioning->distribution.bytes, sizeof provisioning->distribution.bytes)) != ERR_OK ||
        (e = xdr_i64(request, &provisioning->sequence)) != ERR_OK ||
        (e = xdr_u32(request, &provisioning->fee_stroops)) != ERR_OK ||
        (e = xdr_u64(request, &provisioning->max_time_s)) != ERR_OK ||
        (e = xdr_u32(request, &count)) != ERR_OK)
        return e;
    if (kind > PROVISIONING_MERGE || count == 0 || count > PROVISIONING_ACCOUNTS_MAX)
        return ERR_XDR_INVALID;
    provisioning->kind = (enum provisioning_kind)kind;
    provisioning->account_count = count;
    for (uint32_t i = 0; i < count; i++)
        if ((e = xdr_opaque(request, provisioning->accounts[i].bytes,
                 sizeof provisioning->accounts[i].bytes)) != ERR_OK ||
            (e = wire_get_sealed(request, &sealed[i])) != ERR_OK)
            return e;
    return ERR_OK;
}

/* keyd builds the transaction itself from these fields, so nothing else needs a check. */
static enum err check_provisioning(struct handle_state *state, const struct provisioning_tx *provisioning,
    uint64_t now_s, struct detail *detail)
{
    if (!public_key_equal(&provisioning->distribution, &state->ring->distribution))
        return detail_set(
            detail, ERR_INVALID_TRANSACTION, "the distribution account is not the one of this key process");
    if (provisioning->fee_stroops > state->settings.max_bump_fee_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, "the fee is above the key process's maximum");
    enum err e = own_clock_check(now_s, detail);
    if (e != ERR_OK)
        return e;
    if (provisioning->max_time_s <= now_s || provisioning->max_time_s - now_s > LEASE_SECONDS_MAX)
        return detail_set(detail, ERR_INVALID_TRANSACTION, "the max time is not within the next %d seconds",
            LEASE_SECONDS_MAX);
    return budget_take(&state->budget, clock_us(), (unsigned)provisioning->account_count + 1,
        provisioning->fee_stroops, detail);
}

/* Signs with the distribution account, then with each account in order. *broken is the first account whose
 * seed does not open. */
static enum err sign_provisioning(struct handle_state *state, const struct provisioning_tx *provisioning,
    const struct sealed_seed sealed[], struct hash *hash, struct buf *envelope, uint32_t *broken,
    struct detail *detail)
{
    struct public_key signers[PROVISIONING_ACCOUNTS_MAX + 1] = {state->ring->distribution};
    struct signature signatures[PROVISIONING_ACCOUNTS_MAX + 1];
    struct buf transaction = {0};
    provisioning_tx_build(provisioning, &transaction);
    *hash = transaction_hash(&state->ring->network, buf_bytes(&transaction));
    enum err e = ring_sign_as_distribution(state->ring, hash, &signatures[0]);
    for (uint32_t i = 0; e == ERR_OK && i < provisioning->account_count; i++) {
        ring_begin(state->ring); /* verifies each: the first one of an account proves its sealed seed */
        signers[i + 1] = provisioning->accounts[i];
        e = ring_sign(state->ring, &provisioning->accounts[i], &sealed[i], hash, &signatures[i + 1]);
        if (e == ERR_SEAL_BROKEN) {
            *broken = i;
            detail_set(detail, e, "a sealed seed does not open for its account");
        }
    }
    if (e == ERR_OK)
        envelope_build(
            buf_bytes(&transaction), signers, signatures, provisioning->account_count + 1, envelope);
    buf_free(&transaction);
    return e;
}

enum err handle_provisioning(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    uint64_t now_s;
    uint32_t broken = 0;
    struct provisioning_tx provisioning;
    struct sealed_seed sealed[PROVISIONING_ACCOUNTS_MAX];
    struct buf envelope = {0};
    struct hash hash = {0};
    struct detail detail = {0};
    enum err e = read_provisioning(request, &now_s, &provisioning, sealed);
    if (e != ERR_OK)
        return e;
    enum err result = check_provisioning(state, &provisioning, now_s, &detail);
    if (result == ERR_OK)
        result = sign_provisioning(state, &provisioning, sealed, &hash, &envelope, &broken, &detail);
    handle_put_signed(answer, result, &detail, &hash, buf_bytes(&envelope));
    buf_add_u32(answer, broken);
    buf_free(&envelope);
    return ERR_OK;
}
