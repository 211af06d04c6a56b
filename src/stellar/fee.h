/* The limit on what a Soroban transaction declares; the rest of fees is in stellar/policy.h. */
#ifndef FAIRWAY_SRC_STELLAR_FEE_H
#define FAIRWAY_SRC_STELLAR_FEE_H

#include "stellar/policy.h"

/* ERR_INVALID_SOROBAN_TRANSACTION when negative, ERR_FEE_EXCEEDS_MAXIMUM when above the limit. */
MUST_CHECK enum err resource_fee_check(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

#endif
