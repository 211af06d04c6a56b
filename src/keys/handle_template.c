/* The message that signs the creation and the merge of channel accounts. */
#include "handlers.h"
#include "wire.h"

static enum err read_template(
    struct xdr_reader *request, uint64_t *now_s, struct template *template, struct sealed_seed sealed[])
{
    uint32_t kind, count;
    enum err e;
    if ((e = xdr_u64(request, now_s)) != ERR_OK || (e = xdr_u32(request, &kind)) != ERR_OK ||
        (e = xdr_opaque(request, template->distribution.bytes, sizeof template->distribution.bytes)) !=
            ERR_OK ||
        (e = xdr_i64(request, &template->sequence)) != ERR_OK ||
        (e = xdr_u32(request, &template->fee_stroops)) != ERR_OK ||
        (e = xdr_u64(request, &template->max_time_s)) != ERR_OK || (e = xdr_u32(request, &count)) != ERR_OK)
        return e;
    if (kind > TEMPLATE_MERGE || count == 0 || count > TEMPLATE_ACCOUNTS_MAX)
        return ERR_XDR_INVALID;
    template->kind = (enum template_kind)kind;
    template->account_count = count;
    for (uint32_t i = 0; i < count; i++)
        if ((e = xdr_opaque(request, template->accounts[i].bytes, sizeof template->accounts[i].bytes)) !=
                ERR_OK ||
            (e = wire_get_sealed(request, &sealed[i])) != ERR_OK)
            return e;
    return ERR_OK;
}

/* Nothing but the template's few fields comes from outside, so these are all there is to judge. */
static enum err check_template(
    const struct keyd_state *state, const struct template *template, uint64_t now_s, struct detail *detail)
{
    if (!public_key_equal(&template->distribution, &state->ring->distribution))
        return detail_set(detail, ERR_INVALID_TRANSACTION, "the distribution account is another one");
    if (template->fee_stroops > state->max_bump_fee_stroops)
        return detail_set(detail, ERR_FEE_EXCEEDS_MAXIMUM, "the fee is above the key process's maximum");
    if (template->max_time_s <= now_s || template->max_time_s - now_s > LEASE_SECONDS_MAX)
        return detail_set(detail, ERR_INVALID_TRANSACTION, "the max time is not within the next %d seconds",
            LEASE_SECONDS_MAX);
    return ERR_OK;
}

/* The distribution account signs first, then each account, in the order of the template; *broken is the one
 * whose seed does not open. */
static enum err sign_template(struct keyd_state *state, const struct template *template,
    const struct sealed_seed sealed[], struct hash *hash, struct buf *envelope, uint32_t *broken,
    struct detail *detail)
{
    struct public_key signers[TEMPLATE_ACCOUNTS_MAX + 1] = {state->ring->distribution};
    struct signature signatures[TEMPLATE_ACCOUNTS_MAX + 1];
    struct buf transaction = {0};
    template_build(template, &transaction);
    *hash = transaction_hash(&state->ring->network, buf_bytes(&transaction));
    enum err e = ring_sign_as_distribution(state->ring, hash, &signatures[0]);
    for (uint32_t i = 0; e == ERR_OK && i < template->account_count; i++) {
        signers[i + 1] = template->accounts[i];
        e = ring_sign(state->ring, &template->accounts[i], &sealed[i], hash, &signatures[i + 1]);
        if (e == ERR_SEAL_BROKEN) {
            *broken = i;
            detail_set(detail, e, "a sealed seed does not open for its account");
        }
    }
    if (e == ERR_OK)
        template_envelope_build(
            buf_bytes(&transaction), signers, signatures, template->account_count + 1, envelope);
    buf_free(&transaction);
    return e;
}

enum err handle_template(struct keyd_state *state, struct xdr_reader *request, struct buf *answer)
{
    uint64_t now_s;
    uint32_t broken = 0;
    struct template template;
    struct sealed_seed sealed[TEMPLATE_ACCOUNTS_MAX];
    struct buf envelope = {0};
    struct hash hash = {0};
    struct detail detail = {0};
    enum err e = read_template(request, &now_s, &template, sealed);
    if (e != ERR_OK)
        return e;
    enum err result = check_template(state, &template, now_s, &detail);
    if (result == ERR_OK)
        result = sign_template(state, &template, sealed, &hash, &envelope, &broken, &detail);
    handler_put_signed(answer, result, &detail, &hash, buf_bytes(&envelope));
    buf_add_u32(answer, broken);
    buf_free(&envelope);
    return ERR_OK;
}
