/*
 * What an operator does to single accounts by hand: back from quarantine into use, or out of the pool.
 * Neither believes the table alone: the network is asked first, and its answer counts only when it is as new
 * as the last committed ledger at the moment of the COMMIT. Both may run beside grants, ledgers and
 * ensure-accounts, and may be repeated.
 */
#ifndef FAIRWAY_PROVISION_ACCOUNT_ADMIN_H
#define FAIRWAY_PROVISION_ACCOUNT_ADMIN_H

#include "db/db.h"
#include "keys/keyd.h"
#include "rpc/rpc.h"

struct account_admin {
    struct db *db;
    struct rpc *rpc;
    struct keyd *keyd; /* KEYD_SERVE: says whether the account's seed opens */
    struct public_key distribution;
    unsigned patience_s; /* how long to ask an RPC again that is behind the cursor */
    unsigned poll_ms;    /* between two questions */
};

/*
 * Answers of both: ERR_OK: it is so (detail says what was done, or that it was so already); ERR_REFUSED:
 * refused, detail says why and what to do; ERR_NOT_YET: not now (the RPC stays behind, a lease is open, a
 * transaction of provisioning is under way); ERR_OUTCOME_UNKNOWN, ERR_NOT_REPLICATED: it may be so, ask
 * again. Anything else: database, RPC or key process are away, and the account is as it was.
 */

/*
 * quarantined -> active, when the account exists, is governed by its own key alone, is not frozen, and its
 * sealed seed opens. Takes over the network's sequence number. An open lease stays open: only a ledger ends
 * it.
 */
MUST_CHECK enum err account_admin_release(
    const struct account_admin *manual, const struct public_key *account, struct detail *detail);

/*
 * active or quarantined -> retiring: no more leases, ensure-accounts merges it. Refused when it could not be
 * merged. Straight to retired, also what was only ever to be created, when the network has no such account in
 * two looks, the second a ledger later. The row and its sealed seed stay in either case: nothing deletes a
 * key.
 */
MUST_CHECK enum err account_admin_retire(
    const struct account_admin *manual, const struct public_key *account, struct detail *detail);

#endif
