#include "account_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/grants_allowed.h"
#include "pool/submission.h"

/* The first statement: every transaction that locks both locks the cursor before accounts. Ledger
 * transactions wait until this one ends. */
static const char sql_cursor[] = "SELECT c.sequence, " GRANTS_ON_HOLD " FROM fairway.cursor c FOR SHARE";

static const char sql_account[] = "SELECT a.state, a.lease_hash IS NOT NULL, coalesce(a.sequence_ledger, 0)"
                                  " FROM fairway.channel_accounts a WHERE a.public_key = $1 FOR UPDATE";

/* Runs after the account is locked: provisioning stores its transaction under the same lock. */
static const char sql_submitted[] = "SELECT " SUBMISSION_KIND " IS NOT NULL FROM fairway.channel_accounts a"
                                    " WHERE a.public_key = $1";

/* An account that the network does not have keeps its last sequence number. */
static const char sql_change[] =
    "UPDATE fairway.channel_accounts a SET state = $2, quarantine_reason = NULL,"
    " slot = CASE $2 WHEN 'retired' THEN NULL ELSE a.slot END, sequence = coalesce($3, a.sequence),"
    " sequence_ledger = coalesce($4, a.sequence_ledger) WHERE a.public_key = $1";

/* Wakes requests that wait for an idle account: POOL_CHANNEL of pool/settle.h. */
static const char sql_notify[] = "SELECT pg_notify('fairway_pool', '')";

static struct account_change_verdict unchanged(enum err e, const char *words)
{
    struct account_change_verdict verdict = {0};
    verdict.e = detail_set(&verdict.detail, e, "%s", words);
    return verdict;
}

/* Whether the account can be leased or merged: both need its own key, with full authority. */
static struct account_change_verdict judge_use(const struct account_probe *probe)
{
    if (!probe->own_authority)
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

static struct account_change_verdict judge_release(
    const struct account_change_row *row, const struct account_probe *probe)
{
    if (text_equal(row->state, "active"))
        return unchanged(ERR_OK, "already active");
    if (!text_equal(row->state, "quarantined")) {
        struct account_change_verdict verdict = unchanged(ERR_REFUSED, "");
        detail_set(&verdict.detail, ERR_OK, "refused: it is %s, not quarantined", row->state);
        return verdict;
    }
    if (!probe->found)
        return unchanged(ERR_REFUSED,
            "refused: the network has no such account; retire it, or create it on the network again first");
    struct account_change_verdict verdict = judge_use(probe);
    if (verdict.e != ERR_OK)
        return verdict;
    verdict.state = "active";
    detail_set(&verdict.detail, ERR_OK, "active, with sequence %" PRId64 " as of ledger %u%s",
        probe->sequence, probe->ledger, row->leased ? "; its open lease stays open" : "");
    return verdict;
}

static struct account_change_verdict judge_missing(
    enum account_change change, const struct account_change_row *row)
{
    if (row->leased)
        return unchanged(ERR_NOT_YET,
            "not yet: the network has no such account, but its lease is open until a ledger ends it");
    if (row->grants_on_hold && text_equal(row->state, "creating"))
        return unchanged(ERR_NOT_YET,
            "not yet: grants are on hold, and the database may have lost the transaction that creates it");
    struct account_change_verdict verdict =
        unchanged(change == CHANGE_RETIRE_IF_FOUND ? ERR_NOT_FOUND : ERR_OK,
            "retired: the network has no such account");
    if (change == CHANGE_RETIRE)
        verdict.state = "retired";
    return verdict;
}

static struct account_change_verdict judge_retire(
    enum account_change change, const struct account_change_row *row, const struct account_probe *probe)
{
    if (text_equal(row->state, "retired"))
        return unchanged(ERR_OK, "already retired");
    if (!probe->found)
        return judge_missing(change, row);
    if (text_equal(row->state, "creating"))
        return unchanged(
            ERR_NOT_YET, "not yet: the network has it, but the ledger that created it is not ingested yet");
    struct account_change_verdict verdict = judge_use(probe);
    if (verdict.e != ERR_OK)
        return verdict;
    if (text_equal(row->state, "retiring"))
        return unchanged(ERR_OK, "already retiring; ensure-accounts merges it");
    verdict.state = "retiring";
    detail_set(&verdict.detail, ERR_OK, "retiring; ensure-accounts merges it%s",
        row->leased ? " after its lease has ended" : "");
    return verdict;
}

struct account_change_verdict account_change_judge(
    enum account_change change, const struct account_change_row *row, const struct account_probe *probe)
{
    return change == CHANGE_RELEASE ? judge_release(row, probe) : judge_retire(change, row, probe);
}

struct work {
    const struct account_probe *probe;
    enum account_change change;
    char address[ADDRESS_SIZE];
    struct detail *detail;
};

static enum err read_row(struct db *db, const struct work *work, struct account_change_row *out)
{
    enum {
        CURSOR,
        ACCOUNT,
        STEPS
    };
    const struct account_probe *probe = work->probe;
    struct db_rows *rows[STEPS] = {0};
    const struct db_statement statements[STEPS] = {
        DB_SQL0(sql_cursor), DB_SQL(sql_account, DB_TEXT(work->address))};
    enum err e = db_run(db, statements, STEPS, rows, work->detail);
    if (e == ERR_OK && db_count(rows[CURSOR]) == 0)
        e = detail_set(work->detail, ERR_NOT_YET, "not yet: no ledger has been ingested");
    if (e == ERR_OK && db_count(rows[ACCOUNT]) == 0)
        e = detail_set(work->detail, ERR_REFUSED, "refused: not an account of this pool");
    if (e == ERR_OK &&
        (probe->oldest < db_i64(rows[CURSOR], 0, 0) || probe->ledger < db_i64(rows[ACCOUNT], 0, 2)))
        e = detail_set(work->detail, ERR_LEDGER_AHEAD,
            "not yet: Stellar RPC is at ledger %u, and %" PRId64 " is committed", probe->oldest,
            db_i64(rows[CURSOR], 0, 0));
    if (e == ERR_OK) {
        snprintf(out->state, sizeof out->state, "%s", db_text(rows[ACCOUNT], 0, 0));
        out->leased = db_bool(rows[ACCOUNT], 0, 1);
        out->grants_on_hold = db_bool(rows[CURSOR], 0, 1);
    }
    for (size_t i = 0; i < STEPS; i++)
        db_rows_free(rows[i]);
    return e;
}

static enum err write_row(struct db *db, const struct work *work, const char *state)
{
    const struct account_probe *probe = work->probe;
    AUTO_ROWS pending = NULL;
    enum err e = db_query(db, DB_SQL(sql_submitted, DB_TEXT(work->address)), &pending, work->detail);
    if (e != ERR_OK)
        return e;
    if (db_bool(pending, 0, 0))
        return detail_set(
            work->detail, ERR_NOT_YET, "not yet: a pending transaction of ensure-accounts includes it");
    const struct db_statement statements[] = {
        DB_SQL(sql_change, DB_TEXT(work->address), DB_TEXT(state),
            probe->found ? DB_I64(probe->sequence) : DB_NONE, probe->found ? DB_I64(probe->ledger) : DB_NONE),
        DB_SQL0(sql_notify),
    };
    return db_run(db, statements, ARRAY_LEN(statements), NULL, work->detail);
}

static enum err apply(struct db *db, void *context)
{
    const struct work *work = context;
    struct account_change_row row;
    enum err e = read_row(db, work, &row);
    if (e != ERR_OK)
        return e;
    const struct account_change_verdict verdict = account_change_judge(work->change, &row, work->probe);
    if (verdict.state != NULL && (e = write_row(db, work, verdict.state)) != ERR_OK)
        return e;
    *work->detail = verdict.detail;
    return verdict.e;
}

enum err account_change_apply(struct db *db, const struct public_key *account, enum account_change change,
    const struct account_probe *probe, struct detail *detail)
{
    struct work work = {.probe = probe, .change = change, .detail = detail};
    address_encode(account, work.address);
    return db_transaction(db, apply, &work, detail);
}
