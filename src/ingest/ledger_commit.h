/*
 * The ledger transaction: everything that a ledger changes becomes visible by one COMMIT, or nothing does.
 * That is its row, the cursor, the ends of leases, the states of accounts, the fate of the transactions of
 * ensure-accounts, and the distribution account's balance.
 */
#pragma once

#include "pool/funds.h"
#include "pool/settle.h"
#include "lead.h"

struct gap_evidence;

struct ledger_committed {
    struct settled settled;
    int64_t lag_s;      /* the database's clock minus the close time */
    int64_t told_us;    /* clock_us() when it was committed and the listener had been told */
    bool may_freeze;    /* it has an upgrade that can freeze accounts */
    struct funds funds; /* of the distribution account, after this ledger */
};

/*
 * Commits the ledger, which the caller has checked (cursor_check), moves lead->cursor, and logs it: at debug
 * level if it changed nothing in the pool. While the cursor is not known, it is the first one of this
 * database. distribution (NULL: not read) is the distribution account as the RPC returned it.
 *
 * ERR_NOT_LEADER: another replica has taken over; nothing was written. ERR_NOT_REPLICATED: the ledger is
 * committed, but the synchronous standby may lack it; *out is set. ERR_OUTCOME_UNKNOWN: the ledger may be
 * committed: call lead_drop and lead_take, which reads the cursor.
 */
MUST_CHECK enum err ledger_commit(struct lead *lead, const struct ledger *ledger,
    const struct account_snapshot *distribution, struct ledger_committed *out, struct detail *detail);

/* The same for the first ledger after a gap, with what was read from the network. ERR_NOT_YET: meanwhile an
 * account was added or provisioning changed, so the evidence is not complete; nothing was written. */
MUST_CHECK enum err ledger_commit_after_gap(struct lead *lead, const struct gap_evidence *evidence,
    struct ledger_committed *out, struct detail *detail);
