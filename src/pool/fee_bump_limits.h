/* The limits of a client on fee bumps, as refusals. */
#ifndef FAIRWAY_POOL_FEE_BUMP_LIMITS_H
#define FAIRWAY_POOL_FEE_BUMP_LIMITS_H

#include "pool/fee_bump.h"

/* What fairway.record_fee_bumps has decided: ERR_OK when the name is empty, else ERR_LIMIT_EXCEEDED, with
 * limit and detail. The item has the lease's fee bumps as they are now. */
MUST_CHECK enum err fee_bump_refused_by(struct fee_bump_item *item, const char *limit);

#endif
