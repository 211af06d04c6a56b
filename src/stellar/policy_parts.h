/* The parts of stellar/policy.h: the accounts that a transaction names, its preconditions, its fees. */
#pragma once

#include "stellar/policy.h"

/* ERR_INVALID_SOROBAN_TRANSACTION when the set is full, which only Soroban operations can cause. */
MUST_CHECK enum err named_add(
    struct named_accounts *named, const struct public_key *account, struct detail *detail);
bool named_has(const struct named_accounts *named, const struct public_key *account);

/* Refuses preconditions (CAP-21) that a lease cannot keep or that no ledger can meet: ERR_INVALID_TRANSACTION
 * with detail. Adds the keys of extra signers to *named. */
MUST_CHECK enum err preconditions_check(
    const struct preconditions *preconditions, struct named_accounts *named, struct detail *detail);

/* The declared resource fee: ERR_INVALID_SOROBAN_TRANSACTION when it is negative, ERR_FEE_EXCEEDS_MAXIMUM
 * when it is above the limit. */
MUST_CHECK enum err policy_fee_check_resource(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);

/* Whether a fee bump of the transaction, leased at the base fee, can stay within the cap. Errors: those of
 * policy_fee; ERR_FEE_EXCEEDS_MAXIMUM, whose detail names the least fee and the maximum. */
MUST_CHECK enum err policy_fee_check_bump(
    const struct envelope *envelope, const struct policy_limits *limits, struct detail *detail);
