/* What a transaction may cost, checked before it is leased; the rest of fees is in stellar/policy.h. */
#ifndef FAIRWAY_SRC_STELLAR_FEE_H
#define FAIRWAY_SRC_STELLAR_FEE_H

#include "stellar/policy.h"

/* ERR_INVALID_SOROBAN_TRANSACTION when negative, ERR_FEE_EXCEEDS_MAXIMUM when above the limit. */
MUST_CHECK enum err resource_fee_check(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

/* Whether the transaction, leased at the base fee, could have a fee bump within the cap.
 * ERR_FEE_EXCEEDS_MAXIMUM: detail names the least fee and the maximum. Errors of policy_fee too. */
MUST_CHECK enum err fee_check_bump(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

#endif
