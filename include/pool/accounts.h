/*
 * The rows of channel accounts: new ones, batches for provisioning, and every change of state except by a
 * ledger (pool/settle.h). All functions run in a transaction of the caller; the locks that they take are held
 * until it ends.
 */
#pragma once

#include "db/db.h"
#include "keys/keyd.h"
#include "pool/account_read.h"

/* NOTIFY channel, without payload: leases ended, or accounts became idle. */
#define ACCOUNTS_CHANNEL "fairway_pool"
#define ACCOUNTS_NOTIFY_SQL "SELECT pg_notify('" ACCOUNTS_CHANNEL "', '')"

/* ---- for provisioning */

/* Accounts of one transaction. */
struct account_batch {
    size_t count;
    struct public_key keys[PROVISIONING_ACCOUNTS_MAX];
    struct sealed_seed sealed[PROVISIONING_ACCOUNTS_MAX];
};

/* Stores accounts that the network has as active ones, on the lowest free slots. sequences: theirs as of
 * ledger; NULL: new keys, of accounts to be created. The session holds the provisioning lock. At most
 * KEYD_IMPORT_BATCH. ERR_NOT_YET: a later ledger has been committed, or none. */
MUST_CHECK enum err accounts_store(struct db *db, const struct generated_key keys[],
    const int64_t sequences[], size_t count, uint32_t ledger, struct detail *detail);

/* Reads at most limit accounts in the order of their slots: accounts that wait to be created or, for a merge,
 * that are retiring without a lease; and that no pending provisioning transaction includes. Locks nothing. */
MUST_CHECK enum err accounts_pick(struct db *db, enum provisioning_kind kind, size_t limit,
    struct account_batch *out, struct detail *detail);

/* Locks the batch's accounts. ERR_NOT_YET: at least one of them is not in the state any more in which
 * accounts_pick read it (released from quarantine, retired, leased), so nothing may be signed for the batch.
 */
MUST_CHECK enum err accounts_lock(
    struct db *db, enum provisioning_kind kind, const struct account_batch *batch, struct detail *detail);

/* Locks an idle account that no other transaction has locked: for a merge a retiring one that is not of the
 * batch, if there is one, else an active one. *found is false when there is none. */
MUST_CHECK enum err accounts_claim(struct db *db, enum provisioning_kind kind,
    const struct account_batch *batch, struct account_source *out, bool *found, struct detail *detail);

/* Makes count active accounts retiring: idle ones first, and of those the highest slots. Accounts that
 * another transaction has locked are left out, so fewer may become so. */
MUST_CHECK enum err accounts_retire(struct db *db, int64_t count, struct detail *detail);

/* ---- for provisioning and grants */

#define ACCOUNTS_SEED_BROKEN "its sealed seed does not open"

/* Quarantines accounts, unless they are retired or quarantined already, and logs each one. More than one must
 * be locked. */
MUST_CHECK enum err accounts_quarantine(struct db *db, const struct public_key accounts[], size_t count,
    const char *reason, struct detail *detail);

/* ---- for a change of one account that no ledger makes */

struct account_locked {
    enum account_state state;
    bool leased;
    bool moved;               /* it is quarantined as ACCOUNT_MOVED */
    bool pending;             /* a pending transaction of ensure-accounts includes it */
    int64_t sequence;         /* 0: unknown */
    uint32_t sequence_ledger; /* 0: the sequence number is unknown */
    uint32_t cursor;          /* the last committed ledger; 0: none */
    bool grants_on_hold;      /* leases may have been forgotten */
};

/* Locks first the cursor row, so that no ledger is committed meanwhile, then the account's row. The order is
 * that of a ledger transaction. ERR_REFUSED: not an account of this pool. */
MUST_CHECK enum err account_lock(
    struct db *db, const struct public_key *account, struct account_locked *out, struct detail *detail);

/* Changes the state of a locked account, to any but quarantined, and notifies ACCOUNTS_CHANNEL. sequence is
 * the account's sequence number on the network as of ledger; ledger 0: both stay as they are. */
MUST_CHECK enum err account_change_state(struct db *db, const struct public_key *account,
    enum account_state state, int64_t sequence, uint32_t ledger, struct detail *detail);
