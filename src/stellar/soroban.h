/* The rules of DESIGN section 7 that only Soroban operations have. */
#ifndef FAIRWAY_SRC_STELLAR_SOROBAN_H
#define FAIRWAY_SRC_STELLAR_SOROBAN_H

#include "operation.h"
#include "stellar/policy.h"

/* Refuses what must not be signed, and adds to named each account that authorizes something in operation. */
MUST_CHECK enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail);

/*
 * The account of an SCAddress, in its plain or muxed form; *is_account is false for what has no key of its
 * own (contract, claimable balance, liquidity pool). ERR_INVALID_SOROBAN_TRANSACTION for forms that are newer
 * than these rules, even if the schema knows them.
 */
MUST_CHECK enum err sc_address_account(
    struct bytes address, bool *is_account, struct public_key *account, struct detail *detail);

/*
 * One SorobanCredentials of operation: ERR_FORBIDDEN_SIGNER when it would use the authority of the
 * transaction's source, ERR_INVALID_SOROBAN_TRANSACTION for kinds that are newer than these rules.
 */
MUST_CHECK enum err credentials_check(
    struct bytes credentials, const struct operation *operation, struct detail *detail);

#endif
