/*
 * Recovery from a gap: the RPC no longer has the ledger after the cursor. Grants are stopped, and every
 * account is read from the RPC. The new cursor is the oldest ledger as of which an account was read. One
 * ledger transaction settles what was read and lets grants resume. Only the stop of grants is written before
 * it, so after a crash or an error the next leader starts the recovery again.
 */
#pragma once

#include "pool/settle.h"
#include "pool/provisioning.h"
#include "follow.h"
#include "ledger_commit.h"

/*
 * What the network shows after a gap: the accounts as they are now, what became of the open leases and of the
 * provisioning transactions, and the ledger after which ingestion continues.
 */
struct gap_evidence {
    struct gap_reads reads;                /* of all accounts that are not retired */
    struct provisioning_list provisioning; /* with their fates */
    /* The new cursor: the oldest ledger as of which something was read. It has no link to the last committed
     * one, so a signed one after it proves it (follow.h). */
    const struct ledger *ledger;
};

/*
 * Moves lead->cursor. Blocks for as long as the RPC takes. renumbered: the last committed ledger had a false
 * number, above the network's, so what is read may be as of ledgers below it.
 *
 * ERR_LEDGER_MISMATCH: this is not the network of the database, or it was reset. ERR_RPC_*: the RPC is
 * unavailable, lags behind the cursor, or contradicts itself. Also the errors of ledger_commit_after_gap.
 */
MUST_CHECK enum err gap_recover(struct lead *lead, struct follow *follow, bool renumbered,
    struct ledger_committed *out, struct detail *detail);
