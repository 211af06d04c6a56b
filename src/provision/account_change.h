/*
 * The change of one account by hand: judged by what the network was seen to say, written if that is still
 * true.
 */
#ifndef FAIRWAY_PROVISION_ACCOUNT_CHANGE_H
#define FAIRWAY_PROVISION_ACCOUNT_CHANGE_H

#include "account_probe.h"

enum account_change {
    CHANGE_RELEASE,
    CHANGE_LOOK, /* as CHANGE_RETIRE, but an account that is missing is only reported: ERR_NOT_FOUND */
    CHANGE_RETIRE,
};

/* The account's row, as far as it decides. */
struct account_change_row {
    char state[16];
    bool leased;
    bool held; /* the database has gone back in time, and what it forgot may still be included */
};

struct verdict {
    enum err e;
    const char *state; /* to be written; NULL: the row stays as it is */
    struct detail detail;
};

/* Pure. Errors as in provision/account_admin.h. */
struct verdict account_change_judge(
    enum account_change change, const struct account_change_row *row, const struct account_probe *sight);

/* One transaction: locks cursor and account, judges, writes. ERR_LEDGER_AHEAD: the sight is older than what
 * is committed, take another one. Else as account_change_judge, and the errors of the database. */
MUST_CHECK enum err account_change_apply(struct db *db, const struct public_key *account,
    enum account_change change, const struct account_probe *sight, struct detail *detail);

#endif
