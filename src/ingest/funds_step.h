/* What is known of the distribution account after a ledger. Pure. */
#ifndef FAIRWAY_INGEST_FUNDS_STEP_H
#define FAIRWAY_INGEST_FUNDS_STEP_H

#include "pool/funds.h"
#include "pool/settle.h"

/*
 * Computes *after for this ledger, which follows the one at cursor. read (NULL: none) is the account as the
 * RPC returned it. It is used only if it is as of the cursor or a later ledger, because the ledgers in
 * between may have changed the account, and only if nothing later is known. limits: NULL, or what the
 * metadata alone says counts only if it is enough for leases; else it is left out, and after->doubted_ledger
 * is set. Returns whether anything changed.
 */
bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *read,
    uint32_t cursor, const struct funds_limits *limits, struct funds *after);

#endif
