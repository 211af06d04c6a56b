/*
 * The states of a channel account: their names, and how ledgers change them. Pure functions, so that every
 * case can be tested without a database.
 */
#ifndef FAIRWAY_POOL_ACCOUNT_STATE_H
#define FAIRWAY_POOL_ACCOUNT_STATE_H

#include "base/err.h"
#include "stellar/ledger.h"

enum account_state {
    ACCOUNT_CREATING, /* the key is stored; no ledger has created the account yet */
    ACCOUNT_ACTIVE,
    ACCOUNT_RETIRING, /* not leased any more; merged after its open lease has ended */
    ACCOUNT_RETIRED,  /* a ledger removed it */
    ACCOUNT_QUARANTINED,
};

/* The names in the database. */
const char *account_state_name(enum account_state state);
MUST_CHECK enum err account_state_parse(const char *name, enum account_state *out);

/* What clients and operators see: the state, but an active account is idle or leased. */
enum account_status {
    ACCOUNT_STATUS_IDLE,
    ACCOUNT_STATUS_LEASED,
    ACCOUNT_STATUS_CREATING,
    ACCOUNT_STATUS_RETIRING,
    ACCOUNT_STATUS_QUARANTINED,
    ACCOUNT_STATUS_RETIRED,
    ACCOUNT_STATUSES
};
/* For texts that list them all. */
#define ACCOUNT_STATUS_NAMES "idle, leased, creating, retiring, quarantined or retired"

enum account_status account_status_of(enum account_state state, bool leased);
enum account_state account_status_state(enum account_status status);
const char *account_status_name(enum account_status status);
MUST_CHECK enum err account_status_parse(const char *name, enum account_status *out);

/* An account's row, as far as ledgers change it. */
struct account_row {
    enum account_state state;
    bool known; /* sequence and sequence_ledger are set */
    int64_t sequence, sequence_ledger;
    int64_t lease_sequence; /* of its open lease, if the ledger did not confirm it; 0: none */
    bool unread;            /* quarantined by account_state_unread, and for nothing since */
    const char *reason;     /* set when this ledger quarantines it: a constant; else NULL */
};

/* What is known about an account after a ledger. */
struct account_news {
    uint32_t ledger;
    bool on_hold; /* the database may have forgotten leases and retirements */
    /* Proved by the ledger's hash: */
    int64_t consumed; /* the highest sequence number that a transaction of the account consumed; 0: none */
    bool ours;        /* fairway signed that transaction */
    bool submitted;   /* the pending submission names the account and succeeded in this ledger */
    /* Claimed by the metadata, NULL: nothing; and what a read as of read_ledger (this ledger or a later one)
     * says about that, NULL: not read. */
    const struct ledger_account *seen, *read;
    uint32_t read_ledger;
    bool reread; /* an unread account has to be read now */
};

enum account_verdict {
    ACCOUNT_SAME,
    ACCOUNT_CHANGED,
    ACCOUNT_DOUBTFUL, /* it has to be read: the metadata claims what no proof explains, or reread is set */
    ACCOUNT_REFUTED,  /* the read contradicts the metadata */
};

/*
 * Changes the row by a ledger. Takes over what is proved; what only the metadata claims has to be read. A
 * transaction that fairway did not sign, changed signers and a removal quarantine the account; on hold, the
 * first and the last of these are attributed to what the database may have forgotten. ACCOUNT_SAME, with
 * nothing changed, also if the ledger is not above sequence_ledger, unless it proves a higher sequence number
 * than the row's, or if the account is retired. After ACCOUNT_DOUBTFUL and ACCOUNT_REFUTED the row has what
 * is proved, and nothing of what is claimed. A read ends the quarantine of an unread account, unless it shows
 * a change.
 */
enum account_verdict account_state_after_ledger(struct account_row *row, const struct account_news *news);

/*
 * Changes the row of an account about which the metadata claims what could not be read: an active account is
 * quarantined until it is read, because it may have changed and none of its leases be valid any more. Returns
 * false if nothing changes.
 */
bool account_state_unread(struct account_row *row);
/* The reason of that quarantine in the database: by it the account is found again. */
#define ACCOUNT_UNREAD_REASON "ledger metadata reports a change of it that no RPC has confirmed yet"

/*
 * Changes the row by a read as of a ledger whose predecessors are lost. signed_by_us: its last sequence
 * number is that of an open lease. Returns false, with nothing changed, if the ledger is not above
 * sequence_ledger and the sequence number not above the row's, if the account is retired, or if it is missing
 * and still to be created.
 */
bool account_state_after_gap(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold);

/* Changes the row of an account that the network froze. Returns false if nothing changes. */
bool account_state_freeze(struct account_row *row);

#endif
