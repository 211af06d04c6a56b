/* The rows of the pool that provisioning writes and reads. */
#ifndef FAIRWAY_POOL_ACCOUNTS_H
#define FAIRWAY_POOL_ACCOUNTS_H

#include "db/db.h"
#include "keys/keyd.h"

/* The pool at a glance. */
struct pool_counts {
    int64_t active, creating, retiring, retiring_leased, quarantined;
    uint32_t cursor; /* 0: no ledger yet */
    uint64_t now_s;  /* the database's, no earlier than the last close time */
    bool pending;    /* a provisioning transaction is under way */
    bool held;       /* the database may have forgotten leases (DESIGN section 5): nothing is merged */
};
MUST_CHECK enum err pool_counts_read(struct db *db, struct pool_counts *out, struct detail *detail);

/* Accounts of one transaction. */
struct batch {
    size_t count;
    struct public_key keys[PROVISIONING_ACCOUNTS_MAX];
    struct sealed_seed sealed[PROVISIONING_ACCOUNTS_MAX];
};

/* Stores new keys as accounts to be created, on the lowest free slots. In a transaction of the session. */
MUST_CHECK enum err accounts_store(
    struct db *db, const struct generated_key keys[], size_t count, struct detail *detail);

/* At most limit accounts that wait to be created, or (merge) that are retiring without a lease; by slot. */
MUST_CHECK enum err accounts_pick(
    struct db *db, enum provisioning_kind kind, size_t limit, struct batch *out, struct detail *detail);

/* Locks the batch's accounts until the transaction ends. ERR_NOT_YET: one of them is not waiting for this
 * any more (released from quarantine, retired, leased), so nothing may be signed for it. */
MUST_CHECK enum err accounts_lock(
    struct db *db, enum provisioning_kind kind, const struct batch *batch, struct detail *detail);

/* Makes count active accounts retiring, idle ones and high slots first; those that a grant holds at this
 * instant are left out. */
MUST_CHECK enum err accounts_retire(struct db *db, int64_t count, size_t *retired, struct detail *detail);

/* Takes one of a held batch out of provisioning, until a person has looked. */
MUST_CHECK enum err accounts_quarantine(
    struct db *db, const struct public_key *account, const char *reason, struct detail *detail);

#endif
