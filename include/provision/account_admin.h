/*
 * An operator's changes to single accounts: release (from quarantine back into use) and retire (out of the
 * pool). Both probe the network first, and apply the change only if the probe is no older than the last
 * committed ledger when the change commits. Both may run beside grants, ingestion and ensure-accounts, and
 * may be repeated.
 */
#pragma once

#include "db/db.h"
#include "rpc/feed.h"

struct account_admin {
    struct db *db;
    struct feed feed;   /* reads accounts and frozen keys */
    unsigned timeout_s; /* how long to retry while the RPC is behind the cursor */
    unsigned poll_ms;   /* pause between two probes */
};

/*
 * Both block for up to timeout_s, plus the RPC's and the database's own timeouts.
 *
 * ERR_OK: the account is in the wanted state; detail says whether it already was. ERR_REFUSED: detail says
 * why and what to do. ERR_NOT_YET: the RPC is behind the cursor, a lease is open, or a provisioning
 * transaction is pending. ERR_OUTCOME_UNKNOWN, ERR_NOT_REPLICATED: the change may have been committed; repeat
 * the call. Any other error: the database or the RPC is unavailable, and the account is unchanged.
 */

/* quarantined -> active. The account must exist on the network and be fit for import. Stores the network's
 * sequence number. An open lease stays open: only a ledger ends it. */
MUST_CHECK enum err account_admin_release(
    const struct account_admin *admin, const struct public_key *account, struct detail *detail);

/*
 * active or quarantined -> retiring: the account gets no more leases, and ensure-accounts merges it. Refused
 * if it cannot be merged. If two probes, the second at least one ledger later, find that the network has
 * no such account, it becomes retired at once; that also covers an account that was never created. The row
 * and its sealed seed are kept: nothing deletes a key.
 */
MUST_CHECK enum err account_admin_retire(
    const struct account_admin *admin, const struct public_key *account, struct detail *detail);
