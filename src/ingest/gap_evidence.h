/*
 * What the network shows after a gap: the accounts as they are now, what became of the open leases and of the
 * submission, and the ledger after which ingestion continues.
 */
#ifndef FAIRWAY_INGEST_GAP_EVIDENCE_H
#define FAIRWAY_INGEST_GAP_EVIDENCE_H

#include "pool/settle.h"
#include "cursor.h"
#include "feed.h"
#include "gap_snapshot.h"

struct gap_evidence {
    struct gap_reads reads; /* accounts[i] is the same account as snapshot->accounts[i] */
    int64_t submission_id;  /* of the snapshot; 0: none was pending */
    struct submission_fate fate;
    /* The new cursor: the oldest ledger as of which something was read. Its hashes are checked; its link to
     * the ledger before it cannot be. */
    struct ledger ledger;
};

/*
 * Reads the evidence for a snapshot of the database. Blocks for as long as the RPC takes; no transaction may
 * be open. Everything read is as of ledgers above the cursor. Free the evidence also after an error.
 *
 * ERR_LEDGER_MISMATCH: this is not the network of the database, or it was reset. ERR_RPC_*: the RPC is
 * unavailable, lags behind the cursor, or contradicts itself.
 */
MUST_CHECK enum err gap_evidence_read(const struct feed *feed, const struct network_id *network,
    const struct cursor *cursor, const struct gap_snapshot *snapshot, struct gap_evidence *out,
    struct detail *detail);
void gap_evidence_free(struct gap_evidence *evidence);

#endif
