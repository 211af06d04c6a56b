/* The functions that handle the messages, one each: it reads the request and appends the answer. */
#pragma once

#include "base/rate_limit.h"
#include "budget.h"
#include "charged.h"
#include "ring.h"
#include "xdr/xdr.h"

struct handle_state {
    struct ring *ring;
    struct budget budget;
    struct charged *charged;
    struct keyd_settings settings; /* limits.distribution is the account of the secret */
    struct rate_limit warned;      /* of refusals for clock and budget */
    bool loaded;                   /* WIRE_LOAD has been handled */
};

/* Before WIRE_LOAD. ring has its secrets (ring_read). handle_state_wipe frees the state. */
struct handle_state handle_state_of(struct ring *ring, const struct keyd_settings *settings);
void handle_state_wipe(struct handle_state *state);

/* The answer is complete; it may say that the request is refused. The request is malformed, which ends the
 * process, when its reader has an error or bytes left. Nothing is signed before all of an item is read. */
typedef void (*handle_fn)(struct handle_state *state, struct xdr_reader *request, struct buf *answer);

void handle_load(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_generate(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_import(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_reseal(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_leases(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_fee_bumps(struct handle_state *state, struct xdr_reader *request, struct buf *answer);
void handle_provisioning(struct handle_state *state, struct xdr_reader *request, struct buf *answer);

/* Appends what the answers to fee bump and provisioning have in common: result, detail, hash, envelope (empty
 * unless ERR_OK). */
void handle_put_signed(struct buf *answer, enum err result, const struct detail *detail,
    const struct hash *hash, struct bytes envelope);

/* Appends the signed envelope of the fee bump of a transaction that has been judged and charged. */
MUST_CHECK enum err handle_build_fee_bump(struct handle_state *state, const struct envelope *inner,
    int64_t fee_stroops, struct hash *hash, struct buf *envelope);
