/* The messages that load the key ring, and that generate, import and reseal keys. */
#include "base/clock.h"
#include "handle.h"
#include "wire.h"

struct handle_state handle_state_of(struct ring *ring, const struct keyd_settings *settings)
{
    const int64_t highest_fee_stroops =
        settings->max_bump_fee_stroops + settings->limits.max_resource_fee_stroops;
    struct handle_state state = {.ring = ring,
        .budget = budget_of(&settings->budget, highest_fee_stroops, clock_us()),
        .charged = charged_new(),
        .settings = *settings};
    state.settings.limits.distribution = ring->distribution;
    return state;
}

void handle_state_wipe(struct handle_state *state)
{
    charged_free(state->charged);
    *state = (struct handle_state){0};
}

enum err handle_load(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    struct master_key_row rows[MASTER_KEY_ROWS_MAX], none = {0};
    struct detail detail = {0};
    bool is_new = false;
    uint32_t count;
    enum err e = xdr_count(request, MASTER_KEY_ROWS_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++)
        e = wire_get_row(request, &rows[i]);
    if (e != ERR_OK)
        return e;
    const enum err result = ring_load(state->ring, rows, count, &is_new, &detail);
    state->loaded = result == ERR_OK; /* else the process ends after this answer */
    wire_put_result(answer, result, &detail);
    wire_put_row(answer, result == ERR_OK ? &state->ring->current->row : &none);
    buf_add_u32(answer, is_new);
    wire_put_row(answer, result == ERR_OK && state->ring->old != NULL ? &state->ring->old->row : &none);
    buf_add(answer, state->ring->distribution.bytes, sizeof state->ring->distribution.bytes);
    return ERR_OK;
}

enum err handle_generate(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    uint32_t count;
    enum err e = xdr_count(request, SIGN_BATCH_MAX, &count);
    if (e == ERR_OK && count == 0)
        return ERR_XDR_INVALID;
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        struct generated_key key;
        ring_generate(state->ring, &key);
        buf_add(answer, key.public_key.bytes, sizeof key.public_key.bytes);
        wire_put_sealed(answer, &key.sealed);
    }
    return e;
}

enum err handle_import(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    const size_t left = ring_seeds_left(state->ring),
                 count = left < KEYD_IMPORT_BATCH ? left : KEYD_IMPORT_BATCH;
    (void)request;
    buf_add_u32(answer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct imported_key item = ring_seal_next(state->ring);
        buf_add_u32(answer, item.line);
        buf_add_u32(answer, item.result);
        buf_add(answer, item.key.public_key.bytes, sizeof item.key.public_key.bytes);
        wire_put_sealed(answer, &item.key.sealed);
    }
    return ERR_OK;
}

enum err handle_reseal(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    struct generated_key account;
    uint32_t count;
    enum err e = xdr_count(request, SIGN_BATCH_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        if ((e = xdr_opaque(request, account.public_key.bytes, sizeof account.public_key.bytes)) != ERR_OK ||
            (e = wire_get_sealed(request, &account.sealed)) != ERR_OK)
            return e;
        buf_add_u32(answer, ring_reseal(state->ring, &account.public_key, &account.sealed));
        wire_put_sealed(answer, &account.sealed);
    }
    return e;
}
