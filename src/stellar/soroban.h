/* The rules of policy_check for Soroban operations. */
#pragma once

#include "operation.h"
#include "stellar/policy.h"

enum {
    SOROBAN_CREDENTIALS_SOURCE_ACCOUNT = 0, /* SorobanCredentialsType */
    SOROBAN_CREDENTIALS_WITH_DELEGATES = 3,
};

/* SCAddressType */
enum {
    SC_ADDRESS_ACCOUNT = 0,
    SC_ADDRESS_CONTRACT = 1,
    SC_ADDRESS_MUXED_ACCOUNT = 2,
};

/* Adds each account that authorizes something in operation to *named. Errors as policy_check. */
MUST_CHECK enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail);

/* The rule for an operation without a source, which the channel account is the source of. Errors as
 * policy_check, but for the count of operations, which soroban_check examines. */
MUST_CHECK enum err soroban_check_without_source(const struct operation *operation, struct detail *detail);

/* The account of an SCAddress that authorizes, also of a muxed one. *is_account is false for any other, which
 * has no key. Whether the host lets it authorize, a simulation tells. */
MUST_CHECK enum err soroban_address_account(
    struct bytes address, bool *is_account, struct public_key *account);
