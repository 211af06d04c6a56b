/*
 * Recovery from a gap (DESIGN section 5): the RPC no longer has the ledger after the cursor's. Grants stop;
 * every account is read; the new cursor is the oldest ledger as of which one was read, fetched and proved but
 * for its link; and one ledger transaction, under the leader's fence, settles what the reads prove and lets
 * grants go on. Nothing but the suspension of grants is written before it: after a crash anywhere, or an
 * answer that does not fit, whoever leads next starts over.
 */
#ifndef FAIRWAY_INGEST_GAP_H
#define FAIRWAY_INGEST_GAP_H

#include "feed.h"
#include "lead.h"

/*
 * Moves lead->at. ERR_LEDGER_MISMATCH: this is not the network that the database was bound to, or it was
 * reset. ERR_RPC_*: the RPC is away, behind the cursor, or at odds with itself. ERR_NOT_YET: provisioning
 * went on meanwhile. Database errors and ERR_NOT_LEADER as lead_commit.
 */
MUST_CHECK enum err gap_recover(struct lead *lead, const struct feed *feed, const struct network_id *network,
    struct ledger_committed *out, struct detail *detail);

#endif
