/* Judges a probe of an account and writes the operator's change in one transaction. Asks no RPC. */
#include "account_change.h"

#include <inttypes.h>

#include "pool/provisioning.h"

static struct account_change_verdict unchanged(enum err e, const char *reason)
{
    struct account_change_verdict verdict = {0};
    verdict.e = detail_set(&verdict.detail, e, "%s", reason);
    return verdict;
}

/* Refuses an account that can be neither leased nor merged: both need its own key, with full authority. */
static struct account_change_verdict judge_use(const struct account_probe *probe)
{
    if (!probe->account.own_authority)
        return unchanged(ERR_REFUSED,
            "refused: its signers or thresholds were changed, so its own key alone no longer controls it;"
            " restore them first");
    if (probe->frozen)
        return unchanged(ERR_REFUSED,
            "refused: the network has frozen it; no transaction of it is valid until it is unfrozen");
    if (!probe->opens)
        return unchanged(ERR_REFUSED,
            "refused: its sealed seed does not open under these master keys; start with the master key that"
            " sealed it");
    return (struct account_change_verdict){0};
}

/* An account to be created may exist already: a contract has created it, which no ledger proves (CAP-73). */
static struct account_change_verdict judge_release(
    const struct account_locked *row, const struct account_probe *probe)
{
    if (row->state == ACCOUNT_ACTIVE)
        return unchanged(ERR_OK, "already active");
    if (row->state != ACCOUNT_QUARANTINED && !(row->state == ACCOUNT_CREATING && !probe->account.removed)) {
        struct account_change_verdict verdict = unchanged(ERR_REFUSED, "");
        detail_set(
            &verdict.detail, ERR_OK, "refused: it is %s, not quarantined", account_state_name(row->state));
        return verdict;
    }
    if (probe->account.removed)
        return unchanged(ERR_REFUSED,
            "refused: the network has no such account; retire it, or create it on the network again first");
    struct account_change_verdict verdict = judge_use(probe);
    if (verdict.e != ERR_OK)
        return verdict;
    verdict.changes = true;
    verdict.state = ACCOUNT_ACTIVE;
    detail_set(&verdict.detail, ERR_OK, "active, with sequence %" PRId64 " as of ledger %u%s",
        probe->account.sequence, probe->ledger, row->leased ? "; its open lease stays open" : "");
    return verdict;
}

static struct account_change_verdict judge_missing(
    enum account_change change, const struct account_locked *row)
{
    if (row->leased)
        return unchanged(ERR_NOT_YET,
            "not yet: the network has no such account, but its lease is open until a ledger ends it");
    if (row->grants_on_hold && row->state == ACCOUNT_CREATING)
        return unchanged(ERR_NOT_YET,
            "not yet: grants are on hold, and the database may have lost the transaction that creates it");
    struct account_change_verdict verdict =
        unchanged(change == CHANGE_RETIRE_IF_FOUND ? ERR_NOT_FOUND : ERR_OK,
            "retired: the network has no such account");
    verdict.changes = change == CHANGE_RETIRE;
    verdict.state = ACCOUNT_RETIRED;
    return verdict;
}

static struct account_change_verdict judge_retire(
    enum account_change change, const struct account_locked *row, const struct account_probe *probe)
{
    if (row->state == ACCOUNT_RETIRED)
        return unchanged(ERR_OK, "already retired");
    if (probe->account.removed)
        return judge_missing(change, row);
    if (row->state == ACCOUNT_CREATING)
        return unchanged(
            ERR_NOT_YET, "not yet: the network has it, but the ledger that created it is not ingested yet");
    struct account_change_verdict verdict = judge_use(probe);
    if (verdict.e != ERR_OK)
        return verdict;
    if (row->state == ACCOUNT_RETIRING)
        return unchanged(ERR_OK, "already retiring; ensure-accounts merges it");
    verdict.changes = true;
    verdict.state = ACCOUNT_RETIRING;
    detail_set(&verdict.detail, ERR_OK, "retiring; ensure-accounts merges it%s",
        row->leased ? " after its lease has ended" : "");
    return verdict;
}

struct account_change_verdict account_change_judge(
    enum account_change change, const struct account_locked *row, const struct account_probe *probe)
{
    return change == CHANGE_RELEASE ? judge_release(row, probe) : judge_retire(change, row, probe);
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

static enum err write_state(struct db *db, const struct work *work, enum account_state state)
{
    const struct account_probe *probe = work->probe;
    bool pending;
    enum err e = provisioning_includes(db, work->account, &pending, work->detail);
    if (e != ERR_OK)
        return e;
    if (pending)
        return detail_set(
            work->detail, ERR_NOT_YET, "not yet: a pending transaction of ensure-accounts includes it");
    return account_change_state(db, work->account, state, probe->account.sequence,
        probe->account.removed ? 0 : probe->ledger, work->detail);
}

static enum err apply(struct db *db, void *context)
{
    const struct work *work = context;
    struct account_locked row;
    enum err e = lock_account(db, work, &row);
    if (e != ERR_OK)
        return e;
    const struct account_change_verdict verdict = account_change_judge(work->change, &row, work->probe);
    if (verdict.changes && (e = write_state(db, work, verdict.state)) != ERR_OK)
        return e;
    *work->detail = verdict.detail;
    return verdict.e;
}

enum err account_change_apply(struct db *db, const struct public_key *account, enum account_change change,
    const struct account_probe *probe, struct detail *detail)
{
    struct work work = {.account = account, .probe = probe, .change = change, .detail = detail};
    return db_transaction(db, apply, &work, detail);
}
