/* The messages that load the key ring and generate keys. */
#include "handle.h"
#include "wire.h"

static enum err read_settings(struct handle_state *state, struct xdr_reader *request, bool *has_distribution,
    struct public_key *distribution)
{
    enum err e;
    if ((e = xdr_opaque(request, state->ring->network.bytes, sizeof state->ring->network.bytes)) != ERR_OK ||
        (e = xdr_bool(request, has_distribution)) != ERR_OK ||
        (e = xdr_opaque(request, distribution->bytes, sizeof distribution->bytes)) != ERR_OK ||
        (e = xdr_u32(request, &state->limits.base_fee_stroops)) != ERR_OK ||
        (e = xdr_i64(request, &state->limits.max_resource_fee_stroops)) != ERR_OK ||
        (e = xdr_i64(request, &state->max_lease_fee_stroops)) != ERR_OK)
        return e;
    return xdr_i64(request, &state->max_bump_fee_stroops);
}

static enum err check_distribution(
    const struct ring *ring, bool configured, const struct public_key *key, struct detail *detail)
{
    if (!ring->secrets->has_distribution)
        return detail_set(
            detail, ERR_CONFIG, "no distribution account: set DISTRIBUTION_ACCOUNT_PRIVATE_KEY");
    if (configured && !public_key_equal(key, &ring->distribution))
        return detail_set(detail, ERR_CONFIG,
            "DISTRIBUTION_ACCOUNT_PRIVATE_KEY does not belong to DISTRIBUTION_ACCOUNT_PUBLIC_KEY");
    return ERR_OK;
}

enum err handle_load(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    struct master_key_row rows[MASTER_KEY_ROWS_MAX], none = {0};
    struct public_key distribution;
    struct detail detail = {0};
    bool configured, is_new = false;
    uint32_t count;
    enum err e;
    if ((e = read_settings(state, request, &configured, &distribution)) != ERR_OK ||
        (e = xdr_u32(request, &count)) != ERR_OK)
        return e;
    if (count > MASTER_KEY_ROWS_MAX)
        return ERR_XDR_INVALID;
    for (uint32_t i = 0; i < count; i++)
        if ((e = wire_get_row(request, &rows[i])) != ERR_OK)
            return e;
    enum err result = check_distribution(state->ring, configured, &distribution, &detail);
    if (result == ERR_OK)
        result = ring_load(state->ring, rows, count, &is_new, &detail);
    state->limits.distribution = state->ring->distribution;
    state->loaded = result == ERR_OK; /* else the process ends after this answer */
    wire_put_result(answer, result, &detail);
    wire_put_row(answer, result == ERR_OK ? &state->ring->current->row : &none);
    buf_add_u32(answer, is_new);
    buf_add(answer, state->ring->distribution.bytes, sizeof state->ring->distribution.bytes);
    return ERR_OK;
}

enum err handle_generate(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    uint32_t count;
    enum err e = xdr_u32(request, &count);
    if (e != ERR_OK)
        return e;
    if (count == 0 || count > SIGN_BATCH_MAX)
        return ERR_XDR_INVALID;
    for (uint32_t i = 0; i < count; i++) {
        struct generated_key key;
        ring_generate(state->ring, &key);
        buf_add(answer, key.public_key.bytes, sizeof key.public_key.bytes);
        wire_put_sealed(answer, &key.sealed);
    }
    return ERR_OK;
}
