/* What one ledger does to what is known of the distribution account. Pure. */
#ifndef FAIRWAY_INGEST_FUNDS_STEP_H
#define FAIRWAY_INGEST_FUNDS_STEP_H

#include "pool/funds.h"
#include "pool/settle.h"

/*
 * The funds after this ledger, which follows on the one at cursor. seen (NULL: nothing) is the account as the
 * RPC had it: it counts as of the cursor or later, so that no ledger between is missed, unless something
 * later is known. Returns whether anything changed.
 */
bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *seen,
    uint32_t cursor, struct funds *after);

#endif
