/* Settles ledgers without the ledger transaction of ingestion. */
#ifndef FAIRWAY_TESTS_SETTLE_ALONE_H
#define FAIRWAY_TESTS_SETTLE_ALONE_H

#include "db/db.h"
#include "pool/settle.h"

/* Inserts the ledger's row, then settle_ledger. search: of the ledgers before; NULL: the pool is searched
 * for expired leases. */
enum err settle_alone(struct db *db, const struct ledger *ledger, struct settle_search *search,
    struct settled *out, struct detail *detail);

#endif
