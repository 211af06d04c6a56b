/*
 * When the ledger after the last committed one is signed by a trusted validator but names another ledger
 * before it, the last one may have been forged: a lying RPC can change results, which only the next ledger
 * binds. It was if the RPC now has that other ledger under the same number.
 */
#ifndef FAIRWAY_INGEST_REFUTE_H
#define FAIRWAY_INGEST_REFUTE_H

#include "rpc/feed.h"
#include "lead.h"

/*
 * Reads the ledger at the cursor again. If it has this hash, the committed one is refuted: grants are put on
 * hold, the accounts whose leases it has ended are quarantined, and both is logged; *refuted is true. Once
 * for each ledger: after that it returns true at once. *logged is the last ledger that was refuted; 0: none.
 */
MUST_CHECK enum err refute_ledger(struct lead *lead, const struct feed *feed, const struct hash *named,
    uint32_t *logged, bool *refuted, struct detail *detail);

#endif
