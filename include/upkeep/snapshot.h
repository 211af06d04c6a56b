/* An account as a feed (rpc/feed.h) returns it, as evidence for settling. */
#ifndef FAIRWAY_UPKEEP_SNAPSHOT_H
#define FAIRWAY_UPKEEP_SNAPSHOT_H

#include "pool/settle_evidence.h"
#include "rpc/feed.h"

/* One answer of accounts. */
struct account_snapshot snapshot_of(
    const struct public_key *key, const struct rpc_account *answer, uint32_t ledger);

#endif
