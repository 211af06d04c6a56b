/* What becomes of an account in a ledger or a gap: pure functions of its row and the evidence. No database
 * here. */
#include "pool/account_state.h"

#include <string.h>

#include "base/mem.h"
#include "stellar/ledger.h"

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
        return; /* keeps the first reason, which an operator needs */
    row->state = ACCOUNT_QUARANTINED;
    row->reason = reason;
}

/* While its lease is open, an account cannot be retired. */
static void remove_account(struct account_row *row, bool on_hold, const char *reason)
{
    if ((row->state == ACCOUNT_RETIRING || on_hold) && row->lease_sequence == 0)
        row->state = ACCOUNT_RETIRED;
    else
        quarantine(row, reason);
}

static void take_sequence(struct account_row *row, int64_t sequence, uint32_t ledger)
{
    row->known = true;
    row->sequence = sequence;
    row->sequence_ledger = ledger;
    if (row->state == ACCOUNT_CREATING)
        row->state = ACCOUNT_ACTIVE;
}

/* Takes over the account as the network has it. */
static void take(struct account_row *row, const struct account_entry *read, uint32_t ledger,
    bool signed_by_us, bool on_hold)
{
    bool recreated = row->known && read->sequence < row->sequence;
    bool foreign = row->known && read->sequence > row->sequence && !signed_by_us;
    take_sequence(row, read->sequence, ledger);
    if (!read->own_authority)
        quarantine(row, "its signers or thresholds were changed");
    else if (recreated)
        quarantine(row, "its sequence number went back: it is another account under the same key");
    else if (foreign && !on_hold && row->state != ACCOUNT_RETIRING)
        quarantine(row, ACCOUNT_MOVED);
}

/*
 * Whether the row already has what this ledger did: the row is as of that ledger or a later one, and its
 * sequence number is not below the ledger's. A sequence number never goes down, so a lower one in the row
 * shows that the read that it came from named a wrong ledger.
 */
static bool is_newer(const struct account_row *row, uint32_t ledger, int64_t sequence)
{
    return row->state == ACCOUNT_RETIRED ||
           (row->known && row->sequence_ledger >= ledger && row->sequence >= sequence);
}

static void follow_transaction(struct account_row *row, const struct account_news *news)
{
    take_sequence(row, news->consumed, news->ledger);
    if (!news->ours && !news->on_hold && row->state != ACCOUNT_RETIRING)
        quarantine(row, ACCOUNT_MOVED);
}

/* Anybody can create an account under a key that is not secret. Of another account an earlier reason says
 * nothing. */
static void follow_creation(struct account_row *row, const struct account_news *news)
{
    const bool again = row->state == ACCOUNT_ACTIVE || (row->state == ACCOUNT_QUARANTINED && row->known);
    take_sequence(row, ledger_first_sequence(news->ledger), news->ledger);
    if (again) {
        row->state = ACCOUNT_QUARANTINED;
        row->reason = "it was created again: it is another account under the same key";
    }
}

static bool is_changed(const struct account_row *before, const struct account_row *after)
{
    return before->state != after->state || before->sequence != after->sequence ||
           before->sequence_ledger != after->sequence_ledger;
}

/* The order of operations in the ledger does not matter: an account that is both created and merged, or
 * merged and created, is not one to lease. */
bool account_state_after_ledger(struct account_row *row, const struct account_news *news)
{
    const struct account_row before = *row;
    if (is_newer(row, news->ledger, news->created ? ledger_first_sequence(news->ledger) : news->consumed))
        return false;
    if (news->consumed != 0)
        follow_transaction(row, news);
    if (news->created)
        follow_creation(row, news);
    if (news->merged)
        remove_account(row, news->on_hold, "the network removed the account");
    if (news->foreign && row->state != ACCOUNT_RETIRED)
        quarantine(row, "it is the source of an operation that fairway did not make");
    return is_changed(&before, row);
}

bool account_state_after_gap(struct account_row *row, const struct account_entry *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold)
{
    if (is_newer(row, ledger, seen->sequence) || (seen->removed && row->state == ACCOUNT_CREATING))
        return false;
    if (seen->removed)
        remove_account(row, on_hold, "it is missing on the network");
    else
        take(row, seen, ledger, signed_by_us, on_hold);
    return true;
}

bool account_state_freeze(struct account_row *row)
{
    if (row->state == ACCOUNT_RETIRED || row->state == ACCOUNT_QUARANTINED)
        return false;
    quarantine(row, "the network froze it");
    return true;
}
