/*
 * Fee bumps in batches: what all requests of a batch need is read, signed and recorded together. A fee bump
 * is handed out only after its row is committed. The same request gets the same bytes each time.
 */
#pragma once

#include "db/db.h"
#include "grant/bid_rule.h"
#include "grant/lease.h"
#include "pool/fee_bump.h"
#include "stellar/authority.h"

/* What a client asks for. */
struct bump_request {
    struct envelope inner; /* not a fee bump; its spans point into xdr */
    struct bytes xdr;      /* inner's TransactionEnvelope, in memory that the owner of the request keeps */
    struct hash inner_hash;
    enum authority authority; /* with AUTHORITY_UNKNOWN no signer of the sources has signed either */
    int64_t max_fee_stroops;  /* 0: not given */
    const struct policy_limits *limits;
    struct limits client_limits;
    char client[CLIENT_SIZE];
    /* fairway sends the fee bump, whose fee is the bid, at most max_fee_stroops. It is recorded as the
     * lease's submission too. */
    bool submits;
    struct hash replaced; /* the bid that it follows, if it raises one, and no client submits: */
    bool raises;
    int64_t asked_stroops; /* by nodes that have refused that one; 0: none has */
};

/* One request in a batch. */
struct bump {
    const struct bump_request *request;
    enum grant_state state;
    struct fee_bump_item item; /* with the error and the limit that have refused it */
    struct buf envelope;       /* of one that is done: the signed TransactionEnvelope; bump_wipe frees it */
};
void bump_wipe(struct bump *bump);

#define BUMP_BATCH_MAX GRANT_BATCH_MAX

/*
 * Decides all bumps (all GRANT_OPEN): each is done or refused with its own error (fee_bump.h, policy_bump_fee
 * and keyd_sign_fee_bumps have them). On error all are open again: ERR_OUTCOME_UNKNOWN or ERR_NOT_REPLICATED:
 * fee bumps may have been recorded, but none may be handed out. Any other error: as db_run and
 * keyd_sign_fee_bumps; nothing was recorded.
 */
MUST_CHECK enum err bump_batch_run(
    struct db *db, struct keyd *keyd, struct bump *const bumps[], size_t count, struct detail *detail);

/* The fee that the request gets, or would get with this max_fee_stroops (0: none). Errors of
 * policy_bump_fee. */
MUST_CHECK enum err bump_fee(
    const struct bump_request *request, int64_t max_fee_stroops, int64_t *fee_stroops, struct detail *detail);
/*
 * Sets fee_stroops of the item by what the others of its members say, and its limit when one refuses it; of a
 * bid max_fee_stroops, the cap. Errors: as policy_bump_fee, limit_refuse and funds_check_bump.
 */
MUST_CHECK enum err bump_choose_fee(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail);
/* The highest fee that the request may ask for. */
int64_t bump_fee_maximum(const struct bump_request *request);
