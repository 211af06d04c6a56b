/*
 * The states of a channel account: their names, and how ledgers change them. Pure functions, so that every
 * case can be tested without a database.
 */
#pragma once

#include "base/err.h"
#include "stellar/account.h"

enum account_state {
    ACCOUNT_CREATING, /* the key is stored; no ledger has created the account yet */
    ACCOUNT_ACTIVE,
    ACCOUNT_RETIRING, /* not leased any more; merged after its open lease has ended */
    ACCOUNT_RETIRED,  /* a ledger removed it */
    ACCOUNT_QUARANTINED,
};

/* The reason of a quarantine that ends by itself (account_change.h). */
#define ACCOUNT_MOVED "its sequence number was consumed by a transaction that fairway did not sign"

/* The names in the database. */
const char *account_state_name(enum account_state state);
MUST_CHECK enum err account_state_parse(const char *name, enum account_state *out);

/* An account's row, as far as ledgers change it. */
struct account_row {
    enum account_state state;
    bool known; /* sequence and sequence_ledger are set */
    int64_t sequence, sequence_ledger;
    int64_t lease_sequence; /* of its open lease, if the ledger did not include it; 0: none */
    const char *reason;     /* set when this ledger quarantines it: a constant; else NULL */
};

/* What a ledger proves about an account. */
struct account_news {
    uint32_t ledger;
    bool on_hold;     /* the database may have forgotten leases, creations and retirements */
    int64_t consumed; /* the highest sequence number that a transaction of the account consumed; 0: none */
    bool ours;        /* fairway signed that transaction */
    bool created, merged;
    bool foreign; /* it is the source of another operation, of a transaction that fairway did not make */
};

/*
 * Changes the row by a ledger. A transaction that fairway did not sign, or an operation that it did not make,
 * quarantines the account; so does a merge, unless the account is retiring. On hold, a transaction, a
 * creation and a merge are attributed to what the database may have forgotten. Returns false, with nothing
 * changed, also if the ledger is not above sequence_ledger, unless it proves a higher sequence number than
 * the row's, or if the account is retired.
 */
bool account_state_after_ledger(struct account_row *row, const struct account_news *news);

/*
 * Changes the row by a read as of a ledger whose predecessors are lost. signed_by_us: its last sequence
 * number is that of an open lease. Returns false, with nothing changed, if the ledger is not above
 * sequence_ledger and the sequence number not above the row's, if the account is retired, or if it is missing
 * and still to be created.
 */
bool account_state_after_gap(struct account_row *row, const struct account_entry *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold);

/* Changes the row of an account that the network froze. Returns false if nothing changes. */
bool account_state_freeze(struct account_row *row);
