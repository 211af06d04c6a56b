/* Judges a probe of an account and writes the change in one transaction. Asks no RPC. */
#include "pool/account_change.h"

#include <inttypes.h>

const char *account_refusal(const struct account_entry *account, bool frozen, uint32_t ledger)
{
    if (account->removed)
        return "this network has no such account";
    if (!account->own_authority)
        return "its master key alone does not control it: remove its other signers, or lower its thresholds";
    if (!account->bare)
        return "it has trustlines, offers, data or signers, or sponsors something: remove these first";
    if (account->immutable)
        return "it has the flag AUTH_IMMUTABLE, so it could not be merged";
    if (account->sequence >= ((int64_t)ledger + 1)
                                 << 32) /* ACCOUNT_MERGE_SEQNUM_TOO_FAR in the next ledger */
        return "its sequence number is ahead of the network's, so it could not be merged";
    return frozen ? "the network has frozen it" : NULL;
}

/* A sealed seed that does not open is found by the first lease or by the merge, which quarantines the
 * account. */
static enum err judge_use(const struct account_probe *probe, struct detail *detail)
{
    const char *why = account_refusal(&probe->account, probe->frozen, probe->ledger);
    return why == NULL ? ERR_OK : detail_set(detail, ERR_REFUSED, "refused: %s", why);
}

/* An account to be created may exist already: a contract has created it, which no ledger proves (CAP-73). */
static enum err judge_release(const struct account_locked *row, const struct account_probe *probe,
    enum account_state *state, struct detail *detail)
{
    if (row->state == ACCOUNT_ACTIVE)
        return detail_set(detail, ERR_OK, "already active");
    if (row->state != ACCOUNT_QUARANTINED && !(row->state == ACCOUNT_CREATING && !probe->account.removed))
        return detail_set(
            detail, ERR_REFUSED, "refused: it is %s, not quarantined", account_state_name(row->state));
    if (probe->account.removed)
        return detail_set(detail, ERR_REFUSED,
            "refused: the network has no such account; retire it, or create it on the network again first");
    enum err e = judge_use(probe, detail);
    if (e != ERR_OK)
        return e;
    *state = ACCOUNT_ACTIVE;
    return detail_set(detail, ERR_OK, "active, with sequence %" PRId64 " as of ledger %u%s",
        probe->account.sequence, probe->ledger, row->leased ? "; its open lease stays open" : "");
}

/* The row's sequence number is that of a ledger, or of the reads after a gap: a lying RPC decides only about
 * what else is compared. */
static enum err judge_return(const struct account_locked *row, const struct account_probe *probe,
    enum account_state *state, struct detail *detail)
{
    if (!row->moved || row->leased || row->grants_on_hold || row->sequence != probe->account.sequence ||
        account_refusal(&probe->account, probe->frozen, probe->ledger) != NULL)
        return detail_set(detail, ERR_REFUSED, "refused: an operator has to look at it");
    *state = ACCOUNT_ACTIVE;
    return ERR_OK;
}

static enum err judge_missing(enum account_change change, const struct account_locked *row,
    enum account_state *state, struct detail *detail)
{
    if (row->leased)
        return detail_set(detail, ERR_NOT_YET,
            "not yet: the network has no such account, but its lease is open until a ledger ends it");
    if (row->grants_on_hold && row->state == ACCOUNT_CREATING)
        return detail_set(detail, ERR_NOT_YET,
            "not yet: grants are on hold, and the database may have lost the transaction that creates it");
    if (change == CHANGE_RETIRE_IF_FOUND)
        return ERR_NOT_FOUND;
    *state = ACCOUNT_RETIRED;
    return detail_set(detail, ERR_OK, "retired: the network has no such account");
}

static enum err judge_retire(enum account_change change, const struct account_locked *row,
    const struct account_probe *probe, enum account_state *state, struct detail *detail)
{
    if (row->state == ACCOUNT_RETIRED)
        return detail_set(detail, ERR_OK, "already retired");
    if (probe->account.removed)
        return judge_missing(change, row, state, detail);
    if (row->state == ACCOUNT_CREATING)
        return detail_set(detail, ERR_NOT_YET,
            "not yet: the network has it, but the ledger that created it is not ingested yet");
    enum err e = judge_use(probe, detail);
    if (e != ERR_OK)
        return e;
    if (row->state == ACCOUNT_RETIRING)
        return detail_set(detail, ERR_OK, "already retiring; ensure-accounts merges it");
    *state = ACCOUNT_RETIRING;
    return detail_set(detail, ERR_OK, "retiring; ensure-accounts merges it%s",
        row->leased ? " after its lease has ended" : "");
}

enum err account_change_judge(enum account_change change, const struct account_locked *row,
    const struct account_probe *probe, enum account_state *state, struct detail *detail)
{
    *state = row->state;
    return change == CHANGE_RELEASE  ? judge_release(row, probe, state, detail)
           : change == CHANGE_RETURN ? judge_return(row, probe, state, detail)
                                     : judge_retire(change, row, probe, state, detail);
}

struct work {
    const struct public_key *account;
    const struct account_probe *probe;
    enum account_change change;
    struct detail *detail;
};

static enum err lock_account(struct db *db, const struct work *work, struct account_locked *row)
{
    const struct account_probe *probe = work->probe;
    enum err e = account_lock(db, work->account, row, work->detail);
    if (e != ERR_OK)
        return e;
    if (row->cursor == 0)
        return detail_set(work->detail, ERR_NOT_YET, "not yet: no ledger has been ingested");
    if (probe->oldest < row->cursor)
        return detail_set(work->detail, ERR_LEDGER_AHEAD,
            "not yet: Stellar RPC is at ledger %u, but ledger %u is committed", probe->oldest, row->cursor);
    if (probe->ledger < row->sequence_ledger)
        return detail_set(work->detail, ERR_LEDGER_AHEAD,
            "not yet: Stellar RPC is at ledger %u, but ledger %u changed the account", probe->ledger,
            row->sequence_ledger);
    return ERR_OK;
}

static enum err apply(struct db *db, void *context)
{
    const struct work *work = context;
    const struct account_probe *probe = work->probe;
    struct account_locked row;
    enum err e = lock_account(db, work, &row);
    if (e != ERR_OK)
        return e;
    enum account_state state;
    struct detail said = {""};
    const enum err judged = account_change_judge(work->change, &row, probe, &state, &said);
    if (state != row.state && row.pending)
        return detail_set(
            work->detail, ERR_NOT_YET, "not yet: a pending transaction of ensure-accounts includes it");
    if (state != row.state)
        e = account_change_state(db, work->account, state, probe->account.sequence,
            probe->account.removed || work->change == CHANGE_RETURN ? 0 : probe->ledger, work->detail);
    if (e != ERR_OK)
        return e;
    *work->detail = said;
    return judged;
}

enum err account_change_apply(struct db *db, const struct public_key *account, enum account_change change,
    const struct account_probe *probe, struct detail *detail)
{
    struct work work = {.account = account, .probe = probe, .change = change, .detail = detail};
    return db_transaction(db, apply, &work, detail);
}
