/* The message that signs creations and merges of channel accounts. */
#include "base/clock.h"
#include "base/mem.h"
#include "handle.h"
#include "own_clock.h"
#include "stellar/envelope_build.h"
#include "wire.h"

static void read_provisioning(struct xdr_reader *request, uint64_t *now_s,
    struct provisioning_tx *provisioning, struct sealed_seed sealed[])
{
    *now_s = xdr_u64(request);
    provisioning->kind = (enum provisioning_kind)xdr_count(request, PROVISIONING_MERGE);
    xdr_opaque(request, provisioning->distribution.bytes, sizeof provisioning->distribution.bytes);
    provisioning->bumped = xdr_bool(request);
    provisioning->sequence = xdr_i64(request);
    provisioning->fee_stroops = xdr_u32(request);
    provisioning->max_time_s = xdr_u64(request);
    provisioning->account_count = xdr_count(request, PROVISIONING_ACCOUNTS_MAX);
    if (provisioning->account_count == 0)
        xdr_fail(request, ERR_XDR_INVALID);
    for (size_t i = 0; i < provisioning->account_count; i++) {
        xdr_opaque(request, provisioning->accounts[i].bytes, sizeof provisioning->accounts[i].bytes);
        sealed[i] = wire_get_sealed(request);
    }
    if (provisioning->bumped) {
        xdr_opaque(request, provisioning->source.bytes, sizeof provisioning->source.bytes);
        sealed[provisioning->account_count] = wire_get_sealed(request);
    }
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
    return budget_take(&state->budget, clock_us(),
        (unsigned)provisioning->account_count + 1 + 2 * provisioning->bumped, provisioning->fee_stroops,
        detail);
}

/* The signatures of a transaction, in order. */
struct signing {
    struct public_key signers[PROVISIONING_ACCOUNTS_MAX + 2];
    struct signature signatures[PROVISIONING_ACCOUNTS_MAX + 2];
    size_t count;
};

/* Signs with the distribution account, if it is the source or sponsors, then with each account in order, and
 * last with a source that is a channel account. *broken is the first whose seed does not open. */
static enum err sign_all(struct handle_state *state, const struct provisioning_tx *provisioning,
    const struct sealed_seed sealed[], const struct hash *hash, struct signing *out, uint32_t *broken,
    struct detail *detail)
{
    enum err e = ERR_OK;
    *out = (struct signing){0};
    if (!provisioning->bumped || provisioning->kind == PROVISIONING_CREATION) {
        out->signers[out->count] = state->ring->distribution;
        e = ring_sign_as_distribution(state->ring, hash, &out->signatures[out->count++]);
    }
    for (uint32_t i = 0; e == ERR_OK && i < provisioning->account_count + provisioning->bumped; i++) {
        const struct public_key *signer =
            i < provisioning->account_count ? &provisioning->accounts[i] : &provisioning->source;
        ring_begin(state->ring); /* verifies each: the first one of an account proves its sealed seed */
        out->signers[out->count] = *signer;
        e = ring_sign(state->ring, signer, &sealed[i], hash, &out->signatures[out->count++]);
        if (e == ERR_SEAL_BROKEN) {
            *broken = i;
            detail_set(detail, e, "a sealed seed does not open for its account");
        }
    }
    return e;
}

static enum err sign_provisioning(struct handle_state *state, const struct provisioning_tx *provisioning,
    const struct sealed_seed sealed[], struct hash *hash, struct buf *envelope, uint32_t *broken,
    struct detail *detail)
{
    struct signing signing;
    struct hash bump_hash;
    struct envelope inner;
    struct buf transaction CLEANUP(buf_free) = {0}, plain CLEANUP(buf_free) = {0};
    provisioning_tx_build(provisioning, &transaction);
    *hash = transaction_hash(&state->ring->network, buf_bytes(&transaction));
    enum err e = sign_all(state, provisioning, sealed, hash, &signing, broken, detail);
    if (e != ERR_OK)
        return e;
    envelope_build(buf_bytes(&transaction), signing.signers, signing.signatures, signing.count,
        provisioning->bumped ? &plain : envelope);
    if (provisioning->bumped && (e = envelope_decode(buf_bytes(&plain), &inner, detail)) == ERR_OK)
        e = handle_build_fee_bump(state, &inner, provisioning->fee_stroops, &bump_hash, envelope);
    return e;
}

void handle_provisioning(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    uint64_t now_s;
    uint32_t broken = 0;
    struct provisioning_tx provisioning;
    struct sealed_seed sealed[PROVISIONING_ACCOUNTS_MAX + 1];
    struct buf envelope CLEANUP(buf_free) = {0};
    struct hash hash = {0};
    struct detail detail = {0};
    read_provisioning(request, &now_s, &provisioning, sealed);
    if (request->e != ERR_OK)
        return;
    enum err result = check_provisioning(state, &provisioning, now_s, &detail);
    if (result == ERR_OK)
        result = sign_provisioning(state, &provisioning, sealed, &hash, &envelope, &broken, &detail);
    handle_put_signed(answer, result, &detail, &hash, buf_bytes(&envelope));
    buf_add_u32(answer, broken);
}
