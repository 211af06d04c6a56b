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

static void quarantine(struct account_row *row, const char *reason)
{
    if (row->state == ACCOUNT_QUARANTINED)
        return; /* the first reason is the one that a person needs */
    row->state = ACCOUNT_QUARANTINED;
    row->reason = reason;
}

static void gone(struct account_row *row, bool held, const char *reason)
{
    if (row->state == ACCOUNT_RETIRING || held)
        row->state = ACCOUNT_RETIRED;
    else
        quarantine(row, reason);
}

static bool transition(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool held, const char *gone_reason)
{
    if (row->state == ACCOUNT_RETIRED || (row->known && row->sequence_ledger >= ledger))
        return false;
    if (seen->removed) {
        gone(row, held, gone_reason);
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
    else if (foreign && !held && row->state != ACCOUNT_RETIRING)
        quarantine(row, "its sequence number was consumed by a transaction that fairway did not sign");
    return true;
}

bool account_state_after_ledger(
    struct account_row *row, const struct ledger_account *seen, uint32_t ledger, bool signed_by_us, bool held)
{
    return transition(row, seen, ledger, signed_by_us, held, "the network removed the account");
}

bool account_state_after_gap(
    struct account_row *row, const struct ledger_account *seen, uint32_t ledger, bool signed_by_us, bool held)
{
    if (seen->removed && row->state == ACCOUNT_CREATING)
        return false;
    return transition(row, seen, ledger, signed_by_us, held, "it is missing on the network");
}

bool account_state_freeze(struct account_row *row)
{
    if (row->state == ACCOUNT_RETIRED || row->state == ACCOUNT_QUARANTINED)
        return false;
    quarantine(row, "the network froze it");
    return true;
}
