/* Settles ledgers without the ledger transaction of ingestion. */
#pragma once

#include "db/db.h"
#include "pool/settle.h"

/* Inserts the ledger's row, then settle_ledger. search: of the ledgers before; NULL: the pool is searched
 * for expired leases. */
enum err settle_alone(struct db *db, const struct ledger *ledger, struct settle_search *search,
    struct settled *out, struct detail *detail);
