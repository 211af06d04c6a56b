/*
 * Recovery from a gap: the RPC no longer has the ledger after the cursor. Grants are stopped, and every
 * account is read from the RPC (gap_evidence.h). The new cursor is the oldest ledger as of which an account
 * was read. One ledger transaction settles what was read and lets grants resume. Only the stop of grants is
 * written before it, so after a crash or an error the next leader starts the recovery again.
 */
#ifndef FAIRWAY_INGEST_GAP_H
#define FAIRWAY_INGEST_GAP_H

#include "ledger_commit.h"

/* Moves lead->cursor. Errors are those of gap_evidence_read and ledger_commit_after_gap. */
MUST_CHECK enum err gap_recover(
    struct lead *lead, const struct feed *feed, struct ledger_committed *out, struct detail *detail);

#endif
