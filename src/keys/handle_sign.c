/*
 * The messages that sign leases and fee bumps. None takes a hash: each takes the transaction, checks it with
 * the rules of policy.h, computes the hash and signs that.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "handle.h"
#include "own_clock.h"
#include "stellar/envelope_build.h"
#include "wire.h"

/* The limit of the fee is for the bid; the resource fee, which the transaction declares, is added. */
static enum err check_bid(const struct handle_state *state, const struct envelope *inner, int64_t fee_stroops,
    struct detail *detail)
{
    if (fee_stroops > 0 && fee_stroops - inner->resource_fee_stroops <= state->settings.max_bump_fee_stroops)
        return ERR_OK;
    return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM,
        "The fee must be at least 1 stroop and at most MAX_FEE plus the transaction's resource fee.");
}

/* A repeated bid counts as a signature, but its fee is not charged again (charged.h). fee_stroops 0: no bid.
 */
static enum err charge(struct handle_state *state, const struct hash *inner_hash, unsigned signatures,
    int64_t fee_stroops, struct detail *detail)
{
    const int64_t missing = charged_missing(state->charged, inner_hash, fee_stroops);
    enum err e = budget_take(&state->budget, clock_us(), signatures, missing, detail);
    if (e == ERR_OK && missing > 0)
        charged_note(state->charged, inner_hash, fee_stroops);
    return e;
}

enum err handle_build_fee_bump(struct handle_state *state, const struct envelope *inner, int64_t fee_stroops,
    struct hash *hash, struct buf *envelope)
{
    struct signature signature;
    struct buf transaction CLEANUP(buf_free) = {0};
    fee_bump_build(inner, &state->ring->distribution, fee_stroops, &transaction);
    *hash = fee_bump_hash(&state->ring->network, buf_bytes(&transaction));
    enum err e = ring_sign_as_distribution(state->ring, hash, &signature);
    if (e == ERR_OK)
        fee_bump_envelope_build(buf_bytes(&transaction), &state->ring->distribution, &signature, envelope);
    return e;
}

/* The bid on a lease that was signed for the same message. */
static enum err sign_bid(struct handle_state *state, struct lease_signing *item, struct detail *detail)
{
    struct envelope inner;
    struct buf leased CLEANUP(buf_free) = {0};
    envelope_build(item->transaction, &item->signer, &item->signature, 1, &leased);
    enum err e = envelope_decode(buf_bytes(&leased), &inner, detail);
    return e != ERR_OK ? e
                       : handle_build_fee_bump(
                             state, &inner, item->bid_fee_stroops, &item->bid_hash, item->bid_envelope);
}

static enum err check_and_sign(
    struct handle_state *state, uint64_t now_s, struct lease_signing *item, struct detail *detail)
{
    const bool bids = item->bid_fee_stroops != 0;
    struct envelope transaction;
    enum err e;
    if ((e = own_clock_check(now_s, detail)) != ERR_OK ||
        (e = transaction_decode(item->transaction, &transaction, detail)) != ERR_OK ||
        (e = policy_check_lease(&transaction, &item->signer, &state->settings.limits,
             state->settings.max_lease_fee_stroops, now_s, detail)) != ERR_OK ||
        (bids && (e = check_bid(state, &transaction, item->bid_fee_stroops, detail)) != ERR_OK))
        return e;
    item->hash = transaction_hash(&state->ring->network, item->transaction);
    if ((e = charge(state, &item->hash, bids ? 2 : 1, item->bid_fee_stroops, detail)) != ERR_OK ||
        (e = ring_sign(state->ring, &item->signer, &item->sealed, &item->hash, &item->signature)) != ERR_OK)
        return e;
    return bids ? sign_bid(state, item, detail) : ERR_OK;
}

/* Whether to log a refusal for clock or budget: once in 10 s, because each request is refused then. */
static bool may_warn(struct handle_state *state)
{
    return rate_limit_allows(&state->warned, 1, 10000, NULL);
}

/* fairway has checked the same rules before, so a refusal here is logged. */
static void sign_lease(struct handle_state *state, uint64_t now_s, struct lease_signing *item)
{
    struct detail detail = {0};
    enum err e = item->result = check_and_sign(state, now_s, item, &detail);
    if (e != ERR_OK && ((e != ERR_KEYD_CLOCK && e != ERR_KEYD_BUDGET) || may_warn(state))) {
        char address[ADDRESS_SIZE];
        address_encode(&item->signer, address);
        log_warn("lease not signed", "account=%s error=%s detail=\"%s\"", address, err_code(e), detail.text);
    }
}

static void read_lease(struct xdr_reader *request, struct lease_signing *item)
{
    xdr_opaque(request, item->signer.bytes, sizeof item->signer.bytes);
    item->sealed = wire_get_sealed(request);
    item->bid_fee_stroops = xdr_i64(request);
    item->transaction = wire_get_bytes(request);
}

/* A refused item has neither hash nor signature: they are zero, and the bid is empty. */
static void put_lease(struct buf *answer, const struct lease_signing *item)
{
    static const struct lease_signing refused = {0};
    const struct lease_signing *from = item->result == ERR_OK ? item : &refused;
    buf_add_u32(answer, item->result);
    buf_add(answer, from->hash.bytes, sizeof from->hash.bytes);
    buf_add(answer, from->signature.bytes, sizeof from->signature.bytes);
    buf_add(answer, from->bid_hash.bytes, sizeof from->bid_hash.bytes);
    wire_put_bytes(answer, item->result == ERR_OK ? buf_bytes(item->bid_envelope) : (struct bytes){0});
}

/* For the operator's metrics; fairway decides nothing by it. */
static void put_budget(struct handle_state *state, struct buf *answer)
{
    buf_add_u64(answer, (uint64_t)budget_fees_left(&state->budget, clock_us()));
}

void handle_leases(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    const uint64_t now_s = xdr_u64(request);
    const uint32_t count = xdr_count(request, SIGN_BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct buf bid CLEANUP(buf_free) = {0};
        struct lease_signing item = {.bid_envelope = &bid};
        read_lease(request, &item);
        if (request->e != ERR_OK)
            return;
        sign_lease(state, now_s, &item);
        put_lease(answer, &item);
    }
    put_budget(state, answer);
}

void handle_put_signed(struct buf *answer, enum err result, const struct detail *detail,
    const struct hash *hash, struct bytes envelope)
{
    wire_put_result(answer, result, detail);
    buf_add(answer, hash->bytes, sizeof hash->bytes);
    wire_put_bytes(answer, result == ERR_OK ? envelope : (struct bytes){0});
}

/*
 * A seed that opens proves that the source belongs to the pool. The channel account's signature proves that
 * keyd has signed exactly this transaction as a lease. It is judged again, because an earlier keyd may have
 * had other limits or a wrong clock.
 */
static enum err check_inner(struct handle_state *state, const struct envelope *inner,
    const struct hash *inner_hash, const struct sealed_seed *sealed, int64_t fee_stroops,
    struct detail *detail)
{
    if (inner->form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED, "the transaction is a fee bump already");
    enum err e = policy_check_lease(inner, &inner->source, &state->settings.limits,
        state->settings.max_lease_fee_stroops, own_clock_latest_s(), detail);
    if (e != ERR_OK || (e = check_bid(state, inner, fee_stroops, detail)) != ERR_OK)
        return e;
    e = ring_check_signed(state->ring, inner, sealed, inner_hash);
    if (e == ERR_SEAL_BROKEN)
        return detail_set(detail, e, "the source's sealed seed does not open");
    return e == ERR_OK ? e
                       : detail_set(detail, e,
                             "The channel account's signature is missing or invalid. Keep the one in the "
                             "lease's transactionXdr.");
}

static void log_over_budget(
    struct handle_state *state, const struct hash *inner_hash, const struct detail *detail)
{
    char hash[HASH_HEX_SIZE];
    if (!may_warn(state))
        return;
    hash_encode(inner_hash, hash);
    log_warn("fee bump not signed", "transaction=%s detail=\"%s\"", hash, detail->text);
}

static enum err sign_fee_bump(struct handle_state *state, struct bytes xdr, const struct sealed_seed *sealed,
    int64_t fee_stroops, struct hash *hash, struct buf *envelope, struct detail *detail)
{
    struct envelope inner;
    enum err e;
    if ((e = envelope_decode(xdr, &inner, detail)) != ERR_OK)
        return e;
    const struct hash inner_hash = envelope_hash(&state->ring->network, &inner);
    if ((e = check_inner(state, &inner, &inner_hash, sealed, fee_stroops, detail)) != ERR_OK)
        return e;
    if ((e = charge(state, &inner_hash, 1, fee_stroops, detail)) != ERR_OK) {
        log_over_budget(state, &inner_hash, detail);
        return e;
    }
    return handle_build_fee_bump(state, &inner, fee_stroops, hash, envelope);
}

void handle_fee_bumps(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    const uint32_t count = xdr_count(request, SIGN_BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct buf envelope CLEANUP(buf_free) = {0};
        struct hash hash = {0};
        struct detail detail = {0};
        const int64_t fee_stroops = xdr_i64(request);
        const struct sealed_seed sealed = wire_get_sealed(request);
        const struct bytes xdr = wire_get_bytes(request);
        if (request->e != ERR_OK)
            return;
        enum err result = sign_fee_bump(state, xdr, &sealed, fee_stroops, &hash, &envelope, &detail);
        handle_put_signed(answer, result, &detail, &hash, buf_bytes(&envelope));
    }
    put_budget(state, answer);
}
