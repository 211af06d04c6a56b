/* One function a message: reads the request, appends the answer. A request that is malformed ends the
 * process. */
#ifndef FAIRWAY_KEYS_HANDLERS_H
#define FAIRWAY_KEYS_HANDLERS_H

#include "ring.h"
#include "xdr/xdr.h"

/* What the process has learnt from WIRE_LOAD. */
struct keyd_state {
    bool loaded;
    struct ring *ring;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops, max_bump_fee_stroops;
};

/* ERR_OK: the answer is complete, also when it refuses. Anything else: the request is not of its type's
 * shape. */
typedef enum err (*keyd_handler)(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);

enum err handle_load(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);
enum err handle_generate(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);
enum err handle_leases(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);
enum err handle_fee_bump(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);
enum err handle_provisioning(struct keyd_state *state, struct xdr_reader *request, struct buf *answer);

/* What the answers of fee bump and provisioning have in common: result, detail, hash, envelope (empty unless
 * ERR_OK). */
void handler_put_signed(struct buf *answer, enum err result, const struct detail *detail,
    const struct hash *hash, struct bytes envelope);

#endif
