#include "account_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/grants_allowed.h"
#include "pool/submission.h"

/* First, as in every transaction that locks both: the cursor before accounts. Ledgers wait for us. */
static const char sql_cursor[] = "SELECT c.sequence, " GRANTS_ON_HOLD " FROM fairway.cursor c FOR SHARE";

static const char sql_account[] = "SELECT a.state, a.lease_hash IS NOT NULL, coalesce(a.sequence_ledger, 0)"
                                  " FROM fairway.channel_accounts a WHERE a.public_key = $1 FOR UPDATE";

/* A statement of its own after the lock on the account: provisioning stores under that lock too. */
static const char sql_submitted[] = "SELECT " SUBMISSION_KIND " IS NOT NULL FROM fairway.channel_accounts a"
                                    " WHERE a.public_key = $1";

/* What the network does not have keeps the sequence number that it had last. */
static const char sql_change[] =
    "UPDATE fairway.channel_accounts a SET state = $2, quarantine_reason = NULL,"
    " slot = CASE $2 WHEN 'retired' THEN NULL ELSE a.slot END, sequence = coalesce($3, a.sequence),"
    " sequence_ledger = coalesce($4, a.sequence_ledger) WHERE a.public_key = $1";

/* For those who wait for an idle account: POOL_CHANNEL of pool/settle.h. */
static const char sql_notify[] = "SELECT pg_notify('fairway_pool', '')";

static struct verdict stays(enum err e, const char *words)
{
    struct verdict verdict = {0};
    verdict.e = detail_set(&verdict.detail, e, "%s", words);
    return verdict;
}

/* Whether the account can be leased, or merged: both take its own key, which must rule and be there. */
static struct verdict judge_use(const struct account_probe *sight)
{
    if (!sight->own_authority)
        return stays(ERR_REFUSED,
            "refused: others can sign for it, or its own key cannot for all; whoever can has to restore its"
            " signers and thresholds first");
    if (sight->frozen)
        return stays(ERR_REFUSED,
            "refused: the network has frozen it, and no transaction with it is valid until it is unfrozen");
    if (!sight->opens)
        return stays(ERR_REFUSED,
            "refused: its sealed seed does not open under these master keys; without the one that sealed it"
            " it can be neither used nor merged");
    return (struct verdict){0};
}

static struct verdict judge_release(const struct account_change_row *row, const struct account_probe *sight)
{
    if (text_equal(row->state, "active"))
        return stays(ERR_OK, "active already");
    if (!text_equal(row->state, "quarantined")) {
        struct verdict verdict = stays(ERR_REFUSED, "");
        detail_set(&verdict.detail, ERR_OK,
            "refused: it is %s, not quarantined; ensure-accounts brings the pool to its size", row->state);
        return verdict;
    }
    if (!sight->found)
        return stays(ERR_REFUSED,
            "refused: the network has no such account; retire it, or create it on the network again");
    struct verdict verdict = judge_use(sight);
    if (verdict.e != ERR_OK)
        return verdict;
    verdict.state = "active";
    detail_set(&verdict.detail, ERR_OK, "active again, with sequence %" PRId64 " as of ledger %u%s",
        sight->sequence, sight->ledger, row->leased ? "; its open lease goes on" : "");
    return verdict;
}

static struct verdict judge_missing(enum account_change change, const struct account_change_row *row)
{
    if (row->leased)
        return stays(
            ERR_NOT_YET, "not yet: the network has no such account, but a ledger has still to end its lease");
    if (row->held && text_equal(row->state, "creating"))
        return stays(ERR_NOT_YET,
            "not yet: the database has gone back in time, and may have forgotten what creates it");
    struct verdict verdict =
        stays(change == CHANGE_LOOK ? ERR_NOT_FOUND : ERR_OK, "retired: the network has no such account");
    if (change == CHANGE_RETIRE)
        verdict.state = "retired";
    return verdict;
}

static struct verdict judge_retire(
    enum account_change change, const struct account_change_row *row, const struct account_probe *sight)
{
    if (text_equal(row->state, "retired"))
        return stays(ERR_OK, "retired already");
    if (!sight->found)
        return judge_missing(change, row);
    if (text_equal(row->state, "creating"))
        return stays(ERR_NOT_YET, "not yet: the network has it, and a ledger has still to show it");
    struct verdict verdict = judge_use(sight);
    if (verdict.e != ERR_OK)
        return verdict;
    if (text_equal(row->state, "retiring"))
        return stays(ERR_OK, "retiring already; ensure-accounts merges it");
    verdict.state = "retiring";
    detail_set(&verdict.detail, ERR_OK, "retiring; ensure-accounts merges it%s",
        row->leased ? " when its lease has ended" : "");
    return verdict;
}

struct verdict account_change_judge(
    enum account_change change, const struct account_change_row *row, const struct account_probe *sight)
{
    return change == CHANGE_RELEASE ? judge_release(row, sight) : judge_retire(change, row, sight);
}

struct work {
    const struct account_probe *sight;
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
    const struct account_probe *sight = work->sight;
    struct db_rows *rows[STEPS] = {0};
    const struct db_statement statements[STEPS] = {
        DB_SQL0(sql_cursor), DB_SQL(sql_account, DB_TEXT(work->address))};
    enum err e = db_run(db, statements, STEPS, rows, work->detail);
    if (e == ERR_OK && db_count(rows[CURSOR]) == 0)
        e = detail_set(work->detail, ERR_NOT_YET, "not yet: no ledger has been ingested");
    if (e == ERR_OK && db_count(rows[ACCOUNT]) == 0)
        e = detail_set(work->detail, ERR_REFUSED, "refused: not an account of this pool");
    if (e == ERR_OK &&
        (sight->oldest < db_i64(rows[CURSOR], 0, 0) || sight->ledger < db_i64(rows[ACCOUNT], 0, 2)))
        e = detail_set(work->detail, ERR_LEDGER_AHEAD,
            "not now: Stellar RPC answers as of ledger %u, and %" PRId64 " is committed", sight->oldest,
            db_i64(rows[CURSOR], 0, 0));
    if (e == ERR_OK) {
        snprintf(out->state, sizeof out->state, "%s", db_text(rows[ACCOUNT], 0, 0));
        out->leased = db_bool(rows[ACCOUNT], 0, 1);
        out->held = db_bool(rows[CURSOR], 0, 1);
    }
    for (size_t i = 0; i < STEPS; i++)
        db_rows_free(rows[i]);
    return e;
}

static enum err write_row(struct db *db, const struct work *work, const char *state)
{
    const struct account_probe *sight = work->sight;
    AUTO_ROWS underway = NULL;
    enum err e = db_query(db, DB_SQL(sql_submitted, DB_TEXT(work->address)), &underway, work->detail);
    if (e != ERR_OK)
        return e;
    if (db_bool(underway, 0, 0))
        return detail_set(
            work->detail, ERR_NOT_YET, "not now: a transaction of ensure-accounts has it under way");
    const struct db_statement statements[] = {
        DB_SQL(sql_change, DB_TEXT(work->address), DB_TEXT(state),
            sight->found ? DB_I64(sight->sequence) : DB_NONE, sight->found ? DB_I64(sight->ledger) : DB_NONE),
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
    const struct verdict verdict = account_change_judge(work->change, &row, work->sight);
    if (verdict.state != NULL && (e = write_row(db, work, verdict.state)) != ERR_OK)
        return e;
    *work->detail = verdict.detail;
    return verdict.e;
}

enum err account_change_apply(struct db *db, const struct public_key *account, enum account_change change,
    const struct account_probe *sight, struct detail *detail)
{
    struct work work = {.sight = sight, .change = change, .detail = detail};
    address_encode(account, work.address);
    return db_transaction(db, apply, &work, detail);
}
