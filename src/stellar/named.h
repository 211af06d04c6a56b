/* The set of accounts that a transaction names (struct named_accounts), as policy collects it. */
#ifndef FAIRWAY_SRC_STELLAR_NAMED_H
#define FAIRWAY_SRC_STELLAR_NAMED_H

#include "stellar/policy.h"

/* ERR_INVALID_SOROBAN_TRANSACTION when the set is full: classic operations cannot fill it. */
MUST_CHECK enum err named_add(
    struct named_accounts *named, const struct public_key *account, struct detail *detail);
bool named_has(const struct named_accounts *named, const struct public_key *account);

#endif
