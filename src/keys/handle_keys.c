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

void handle_load(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    struct master_key_row rows[MASTER_KEY_ROWS_MAX], none = {0};
    struct detail detail = {0};
    bool is_new = false;
    const uint32_t count = xdr_count(request, MASTER_KEY_ROWS_MAX);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = wire_get_row(request);
    if (request->e != ERR_OK)
        return;
    const enum err result = ring_load(state->ring, rows, count, &is_new, &detail);
    state->loaded = result == ERR_OK; /* else the process ends after this answer */
    wire_put_result(answer, result, &detail);
    wire_put_row(answer, result == ERR_OK ? &state->ring->current->row : &none);
    buf_add_u32(answer, is_new);
    wire_put_row(answer, result == ERR_OK && state->ring->old != NULL ? &state->ring->old->row : &none);
    buf_add(answer, state->ring->distribution.bytes, sizeof state->ring->distribution.bytes);
}

void handle_generate(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    const uint32_t count = xdr_count(request, KEYS_BATCH_MAX);
    if (count == 0)
        xdr_fail(request, ERR_XDR_INVALID);
    for (uint32_t i = 0; i < count; i++) {
        struct generated_key key;
        ring_generate(state->ring, &key);
        buf_add(answer, key.public_key.bytes, sizeof key.public_key.bytes);
        wire_put_sealed(answer, &key.sealed);
    }
}

void handle_import(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
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
}

void handle_reseal(struct handle_state *state, struct xdr_reader *request, struct buf *answer)
{
    struct generated_key account;
    const uint32_t count = xdr_count(request, KEYS_BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        xdr_opaque(request, account.public_key.bytes, sizeof account.public_key.bytes);
        account.sealed = wire_get_sealed(request);
        if (request->e != ERR_OK)
            return;
        buf_add_u32(answer, ring_reseal(state->ring, &account.public_key, &account.sealed));
        wire_put_sealed(answer, &account.sealed);
    }
}
