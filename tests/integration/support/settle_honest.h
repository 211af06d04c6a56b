/* Settles ledgers whose metadata tells the truth, for tests without a network to read from. */
#ifndef FAIRWAY_TESTS_SETTLE_HONEST_H
#define FAIRWAY_TESTS_SETTLE_HONEST_H

#include "db/db.h"
#include "pool/settle.h"

/* Inserts the ledger's row, then settle_ledger with reads that confirm all that the metadata claims. *out has
 * the search of the ledger before; if it is zero, the pool is searched for expired leases. */
enum err settle_honest(
    struct db *db, const struct ledger *ledger, struct settled *out, struct detail *detail);

#endif
