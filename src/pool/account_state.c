#include "pool/account_state.h"

#include <string.h>

#include "base/mem.h"

static const char *const names[] = {
    [ACCOUNT_CREATING] = "creating",
    [ACCOUNT_ACTIVE] = "active",
    [ACCOUNT_RETIRING] = "retiring",
    [ACCOUNT_RETIRED] = "retired",
    [ACCOUNT_QUARANTINED] = "quarantined",
};

const char *account_state_name(enum account_state state)
{
    return names[state];
}

enum err account_state_parse(const char *name, enum account_state *out)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum account_state)i;
            return ERR_OK;
        }
    return ERR_MALFORMED;
}

static const struct {
    enum account_state state;
    const char *name; /* NULL: the state's */
} statuses[ACCOUNT_STATUSES] = {
    [ACCOUNT_STATUS_IDLE] = {ACCOUNT_ACTIVE, "idle"},
    [ACCOUNT_STATUS_LEASED] = {ACCOUNT_ACTIVE, "leased"},
    [ACCOUNT_STATUS_CREATING] = {ACCOUNT_CREATING, NULL},
    [ACCOUNT_STATUS_RETIRING] = {ACCOUNT_RETIRING, NULL},
    [ACCOUNT_STATUS_QUARANTINED] = {ACCOUNT_QUARANTINED, NULL},
    [ACCOUNT_STATUS_RETIRED] = {ACCOUNT_RETIRED, NULL},
};

enum account_status account_status_of(enum account_state state, bool leased)
{
    if (state == ACCOUNT_ACTIVE)
        return leased ? ACCOUNT_STATUS_LEASED : ACCOUNT_STATUS_IDLE;
    enum account_status status = ACCOUNT_STATUS_CREATING;
    while (statuses[status].state != state)
        status++;
    return status;
}

enum account_state account_status_state(enum account_status status)
{
    return statuses[status].state;
}

const char *account_status_name(enum account_status status)
{
    return statuses[status].name != NULL ? statuses[status].name : names[statuses[status].state];
}

enum err account_status_parse(const char *name, enum account_status *out)
{
    for (enum account_status status = 0; status < ACCOUNT_STATUSES; status++)
        if (strcmp(name, account_status_name(status)) == 0) {
            *out = status;
            return ERR_OK;
        }
    return ERR_MALFORMED;
}

static void quarantine(struct account_row *row, const char *reason)
{
    if (row->state == ACCOUNT_QUARANTINED)
        return; /* keeps the first reason, which an operator needs */
    row->state = ACCOUNT_QUARANTINED;
    row->reason = reason;
}

static void remove_account(struct account_row *row, bool on_hold, const char *reason)
{
    if (row->state == ACCOUNT_RETIRING || on_hold)
        row->state = ACCOUNT_RETIRED;
    else
        quarantine(row, reason);
}

static bool follow(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold, const char *removed_reason)
{
    if (row->state == ACCOUNT_RETIRED || (row->known && row->sequence_ledger >= ledger))
        return false;
    if (seen->removed) {
        remove_account(row, on_hold, removed_reason);
        return true;
    }
    bool recreated = row->known && seen->sequence < row->sequence;
    bool foreign = row->known && seen->sequence > row->sequence && !signed_by_us;
    row->known = true;
    row->sequence = seen->sequence;
    row->sequence_ledger = ledger;
    if (row->state == ACCOUNT_CREATING)
        row->state = ACCOUNT_ACTIVE;
    if (!seen->own_authority)
        quarantine(row, "its signers or thresholds were changed");
    else if (recreated)
        quarantine(row, "its sequence number went back: it is another account under the same key");
    else if (foreign && !on_hold && row->state != ACCOUNT_RETIRING)
        quarantine(row, "its sequence number was consumed by a transaction that fairway did not sign");
    return true;
}

bool account_state_after_ledger(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold)
{
    return follow(row, seen, ledger, signed_by_us, on_hold, "the network removed the account");
}

bool account_state_after_gap(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold)
{
    if (seen->removed && row->state == ACCOUNT_CREATING)
        return false;
    return follow(row, seen, ledger, signed_by_us, on_hold, "it is missing on the network");
}

bool account_state_freeze(struct account_row *row)
{
    if (row->state == ACCOUNT_RETIRED || row->state == ACCOUNT_QUARANTINED)
        return false;
    quarantine(row, "the network froze it");
    return true;
}
