/* Refuses preconditions (CAP-21) that a lease cannot keep or that no ledger can meet. */
#ifndef FAIRWAY_SRC_STELLAR_PRECONDITIONS_H
#define FAIRWAY_SRC_STELLAR_PRECONDITIONS_H

#include "stellar/policy.h"

/* ERR_INVALID_TRANSACTION with detail. Adds the keys of extra signers to *named. */
MUST_CHECK enum err preconditions_check(
    const struct preconditions *preconditions, struct named_accounts *named, struct detail *detail);

#endif
