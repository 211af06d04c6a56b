/*
 * The states of a channel account and the one function that changes them on ledger evidence. Pure, so that
 * every case can be tested without a database.
 */
#ifndef FAIRWAY_POOL_ACCOUNT_STATE_H
#define FAIRWAY_POOL_ACCOUNT_STATE_H

#include "base/err.h"
#include "stellar/ledger.h"

enum account_state {
    ACCOUNT_CREATING, /* the key is stored; no ledger has created the account yet */
    ACCOUNT_ACTIVE,
    ACCOUNT_RETIRING, /* no more leases; to be merged once the open one is settled */
    ACCOUNT_RETIRED,  /* a ledger removed it */
    ACCOUNT_QUARANTINED,
};

const char *account_state_name(enum account_state state);
MUST_CHECK enum err account_state_parse(const char *name, enum account_state *out);

/* An account's row, as far as ledgers change it. */
struct account_row {
    enum account_state state;
    bool known; /* sequence and sequence_ledger are set */
    int64_t sequence, sequence_ledger;
    const char *reason; /* of a quarantine that this ledger caused; else NULL */
};

/*
 * The row after a ledger that touched the account. signed_by_us: the ledger has a transaction of this account
 * whose sequence is the account's last and whose hash is a lease's. held: the database may have forgotten
 * leases and retirements, so unknown uses of sequence numbers and removals are those. A ledger at or below
 * sequence_ledger changes nothing: false.
 */
bool account_state_after_ledger(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool held);

/* The same for an account as of a ledger whose predecessors are lost; signed_by_us: its last sequence is that
 * of an open lease. removed: the network does not have it, which says nothing about one that is yet to be
 * created. */
bool account_state_after_gap(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool held);

/* The row of an account that the network froze. False: nothing changes. */
bool account_state_freeze(struct account_row *row);

#endif
