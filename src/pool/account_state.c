/* What becomes of an account in a ledger or a gap: pure functions of its row and the evidence. No database
 * here. */
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
    if (row->state == ACCOUNT_QUARANTINED && !row->unread)
        return; /* keeps the first reason, which an operator needs */
    row->state = ACCOUNT_QUARANTINED;
    row->unread = false;
    row->reason = reason;
}

/* Once an unread account is read, it is judged as the active account that it was before. */
static void end_unread(struct account_row *row)
{
    if (row->unread)
        row->state = ACCOUNT_ACTIVE;
    row->unread = false;
}

static const char reason_foreign[] =
    "its sequence number was consumed by a transaction that fairway did not sign";

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
static void take(struct account_row *row, const struct ledger_account *read, uint32_t ledger,
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
        quarantine(row, reason_foreign);
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

/* An account begins with the number of the ledger that creates it in the upper half (stellar-core,
 * getStartingSequenceNumber). */
static bool take_proof(struct account_row *row, const struct account_news *news)
{
    bool created = news->submitted && row->state == ACCOUNT_CREATING;
    bool merged = news->submitted && row->state == ACCOUNT_RETIRING;
    if (created)
        take_sequence(row, (int64_t)news->ledger << 32, news->ledger);
    if (merged)
        remove_account(row, news->on_hold, "the network removed the account");
    if (news->consumed == 0 || row->state == ACCOUNT_RETIRED)
        return created || merged;
    take_sequence(row, news->consumed, news->ledger);
    if (!news->ours && !news->on_hold && row->state != ACCOUNT_RETIRING)
        quarantine(row, reason_foreign);
    return true;
}

static bool expected(const struct account_row *row, const struct ledger_account *seen)
{
    if (row->state == ACCOUNT_CREATING || seen->removed)
        return row->state == ACCOUNT_CREATING && seen->removed;
    return row->known && seen->own_authority && seen->sequence == row->sequence;
}

/*
 * The sequence number of the open lease is no evidence of a foreign change in a read as of a later ledger.
 * That ledger may have the lease's transaction.
 */
static enum account_verdict take_read(struct account_row *row, const struct account_news *news)
{
    const struct ledger_account *read = news->read;
    const bool unread = row->unread;
    end_unread(row);
    bool leased = !read->removed && read->own_authority && row->lease_sequence != 0 &&
                  read->sequence == row->lease_sequence && news->read_ledger > news->ledger;
    if (expected(row, read) || leased)
        return unread ? ACCOUNT_CHANGED : ACCOUNT_REFUTED;
    if (read->removed)
        remove_account(row, news->on_hold, "the network removed the account");
    else
        take(row, read, news->read_ledger, false, news->on_hold);
    return ACCOUNT_CHANGED;
}

/* Whether the metadata's claim cannot change the account any more. While grants are on hold, a removal still
 * counts for a quarantined account. */
static bool is_settled(const struct account_row *row, const struct account_news *news)
{
    bool ends_hold = news->on_hold && news->seen->removed;
    return row->state == ACCOUNT_RETIRED || (row->state == ACCOUNT_QUARANTINED && !ends_hold);
}

enum account_verdict account_state_after_ledger(struct account_row *row, const struct account_news *news)
{
    if (is_newer(row, news->ledger, news->consumed))
        return ACCOUNT_SAME;
    bool changed = take_proof(row, news);
    bool claimed = news->seen != NULL && !is_settled(row, news) && !expected(row, news->seen);
    if (!claimed && !(row->unread && news->reread))
        return changed ? ACCOUNT_CHANGED : ACCOUNT_SAME;
    return news->read != NULL ? take_read(row, news) : ACCOUNT_DOUBTFUL;
}

bool account_state_unread(struct account_row *row)
{
    if (row->state != ACCOUNT_ACTIVE)
        return false;
    quarantine(row, ACCOUNT_UNREAD_REASON);
    row->unread = true;
    return true;
}

bool account_state_after_gap(struct account_row *row, const struct ledger_account *seen, uint32_t ledger,
    bool signed_by_us, bool on_hold)
{
    if (is_newer(row, ledger, seen->sequence) || (seen->removed && row->state == ACCOUNT_CREATING))
        return false;
    end_unread(row);
    if (seen->removed)
        remove_account(row, on_hold, "it is missing on the network");
    else
        take(row, seen, ledger, signed_by_us, on_hold);
    return true;
}

bool account_state_freeze(struct account_row *row)
{
    if (row->state == ACCOUNT_RETIRED || (row->state == ACCOUNT_QUARANTINED && !row->unread))
        return false;
    quarantine(row, "the network froze it");
    return true;
}
