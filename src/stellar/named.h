/* Adds to and searches struct named_accounts of stellar/policy.h. */
#ifndef FAIRWAY_SRC_STELLAR_NAMED_H
#define FAIRWAY_SRC_STELLAR_NAMED_H

#include "stellar/policy.h"

/* ERR_INVALID_SOROBAN_TRANSACTION when the set is full, which only Soroban operations can cause. */
MUST_CHECK enum err named_add(
    struct named_accounts *named, const struct public_key *account, struct detail *detail);
bool named_has(const struct named_accounts *named, const struct public_key *account);

#endif
