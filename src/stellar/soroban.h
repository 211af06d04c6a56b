/* The rules of policy_check for Soroban operations. */
#ifndef FAIRWAY_SRC_STELLAR_SOROBAN_H
#define FAIRWAY_SRC_STELLAR_SOROBAN_H

#include "operation.h"
#include "stellar/policy.h"

/* Adds each account that authorizes something in operation to *named. Errors as policy_check. */
MUST_CHECK enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail);

/*
 * The account of an SCAddress, also of a muxed one. *is_account is false for a contract, claimable balance or
 * liquidity pool, which has no key. ERR_INVALID_SOROBAN_TRANSACTION for kinds that these rules do not cover,
 * even if the schema has them.
 */
MUST_CHECK enum err soroban_address_account(
    struct bytes address, bool *is_account, struct public_key *account, struct detail *detail);

/*
 * Checks one SorobanCredentials of operation. ERR_FORBIDDEN_SIGNER: it uses the authority of the
 * transaction's source. ERR_INVALID_SOROBAN_TRANSACTION: a kind that these rules do not cover.
 */
MUST_CHECK enum err soroban_credentials_check(
    struct bytes credentials, const struct operation *operation, struct detail *detail);

#endif
