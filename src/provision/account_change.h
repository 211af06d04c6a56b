/* An operator's change to one account: judged by a probe of the network, written in one transaction. */
#ifndef FAIRWAY_PROVISION_ACCOUNT_CHANGE_H
#define FAIRWAY_PROVISION_ACCOUNT_CHANGE_H

#include "account_probe.h"
#include "pool/accounts.h"

enum account_change {
    CHANGE_RELEASE,
    CHANGE_RETIRE_IF_FOUND, /* as CHANGE_RETIRE, but if the network lacks the account, ERR_NOT_FOUND */
    CHANGE_RETIRE,
};

struct account_change_verdict {
    enum err e;
    bool changes; /* whether the row changes, to this state: */
    enum account_state state;
    struct detail detail;
};

/* Pure. Errors as in provision/account_admin.h. */
struct account_change_verdict account_change_judge(
    enum account_change change, const struct account_locked *row, const struct account_probe *probe);

/*
 * One transaction: locks the cursor and the account, judges, writes. ERR_LEDGER_AHEAD: the probe is older
 * than the last committed ledger; take another one. Otherwise as account_change_judge, or an error of the
 * database.
 */
MUST_CHECK enum err account_change_apply(struct db *db, const struct public_key *account,
    enum account_change change, const struct account_probe *probe, struct detail *detail);

#endif
