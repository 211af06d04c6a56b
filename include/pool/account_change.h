/* A change to one account that no ledger makes: judged by a probe of the network, and written in one
 * transaction. */
#pragma once

#include "pool/accounts.h"

/* What the network reports about one account. */
struct account_probe {
    uint32_t oldest; /* no field is older than this ledger */
    uint32_t ledger; /* as of which the account is: */
    struct account_entry account;
    bool frozen;
};

enum account_change {
    CHANGE_RELEASE,
    CHANGE_RETIRE_IF_FOUND, /* as CHANGE_RETIRE, but if the network lacks the account, ERR_NOT_FOUND */
    CHANGE_RETIRE,
    CHANGE_RETURN, /* as CHANGE_RELEASE, but nobody has looked: only if all is as before the quarantine */
};

/* Why an account cannot be of use in a pool: it could not be leased, or not be merged later. NULL: it can. As
 * of this ledger. */
const char *account_refusal(const struct account_entry *account, bool frozen, uint32_t ledger);

/* Pure. *state is what the row becomes, or stays. Errors as in provision/account_admin.h. */
enum err account_change_judge(enum account_change change, const struct account_locked *row,
    const struct account_probe *probe, enum account_state *state, struct detail *detail);

/*
 * One transaction: locks the cursor and the account, judges, writes. ERR_LEDGER_AHEAD: the probe is older
 * than the last committed ledger; take another one. Otherwise as account_change_judge, or an error of the
 * database.
 */
MUST_CHECK enum err account_change_apply(struct db *db, const struct public_key *account,
    enum account_change change, const struct account_probe *probe, struct detail *detail);
