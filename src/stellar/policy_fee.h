/* Fee checks of policy_check and soroban_check; the other fee rules are in stellar/policy.h. */
#ifndef FAIRWAY_SRC_STELLAR_POLICY_FEE_H
#define FAIRWAY_SRC_STELLAR_POLICY_FEE_H

#include "stellar/policy.h"

/* The declared resource fee: ERR_INVALID_SOROBAN_TRANSACTION when it is negative, ERR_FEE_EXCEEDS_MAXIMUM
 * when it is above the limit. */
MUST_CHECK enum err policy_fee_check_resource(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

/* Whether a fee bump of the transaction, leased at the base fee, can stay within the cap. Errors: those of
 * policy_fee; ERR_FEE_EXCEEDS_MAXIMUM, whose detail names the least fee and the maximum. */
MUST_CHECK enum err policy_fee_check_bump(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

#endif
