/* The rules of policy_check for Soroban operations. */
#ifndef FAIRWAY_SRC_STELLAR_SOROBAN_H
#define FAIRWAY_SRC_STELLAR_SOROBAN_H

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
    SC_ADDRESS_CLAIMABLE_BALANCE = 3,
    SC_ADDRESS_LIQUIDITY_POOL = 4,
    SC_ADDRESS_MUXED_CONTRACT = 5, /* CAP-84 */
};

/* Adds each account that authorizes something in operation to *named. Errors as policy_check. */
MUST_CHECK enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail);

/* The rule for an operation without a source, which the channel account is the source of. Errors as
 * policy_check, but for the count of operations, which soroban_check examines. */
MUST_CHECK enum err soroban_check_credentials(const struct operation *operation, struct detail *detail);

/*
 * The account of an SCAddress that authorizes, also of a muxed one. *is_account is false for a contract,
 * claimable balance or liquidity pool, which has no key. ERR_INVALID_SOROBAN_TRANSACTION for a muxed
 * contract, which is only a destination, and for kinds that these rules do not cover, even if the schema has
 * them.
 */
MUST_CHECK enum err soroban_address_account(
    struct bytes address, bool *is_account, struct public_key *account, struct detail *detail);

/* The unions in which a new arm may need a new rule. */
struct soroban_union {
    enum xdr_type type;
    uint32_t arms; /* the rules cover the arms from 0 to arms - 1 */
    const char *name;
};
#define SOROBAN_UNION_COUNT 5
extern const struct soroban_union soroban_unions[SOROBAN_UNION_COUNT];

/* ERR_INVALID_SOROBAN_TRANSACTION when the arm of a value is not covered, even if the schema has it. */
MUST_CHECK enum err soroban_check_arm(
    const struct soroban_union *covered, struct bytes value, struct detail *detail);

#endif
