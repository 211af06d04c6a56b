/* The ledger transaction, and its log lines. What a ledger means for an account, pool/settle.c decides. */
#include "ledger_commit.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "db/server.h"
#include "pool/grants_allowed.h"
#include "funds_watch.h"
#include "gap.h"

static void log_note(uint32_t ledger, const struct settle_note *note)
{
    switch (note->event) {
    case SETTLE_QUARANTINED:
        log_error("channel account quarantined", "account=%s ledger=%" PRIu32 " reason=\"%s\"", note->address,
            ledger, note->reason);
        return;
    case SETTLE_READ_AGAIN:
        log_info("channel account released: a read shows that it did not change",
            "account=%s ledger=%" PRIu32, note->address, ledger);
        return;
    case SETTLE_REFUTED:
        log_error("ledger metadata reports a change of a channel account that the RPC contradicts; the "
                  "change is ignored",
            "account=%s ledger=%" PRIu32, note->address, ledger);
        return;
    }
}

/* Logs what a committed ledger did to accounts. */
static void commit_log_accounts(uint32_t ledger, const struct settle_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        log_note(ledger, &notes->items[i]);
}

struct ledger_tx {
    struct lead *lead;
    const struct ledger *ledger;
    const struct gap_evidence *gap;              /* NULL: the ledger follows from the cursor */
    const struct account_snapshot *distribution; /* NULL: not read */
    const struct funds_limits *funds_limits;     /* of funds_step */
    const struct settle_reads *reads;            /* NULL: nothing was read to confirm the metadata */
    struct settle_doubts *doubts;                /* what to read; not after a gap */
    bool rereads;                                /* it is time to read unread accounts again */
    struct submission submission;
    struct submission_fate fate; /* of the submission */
    struct funds funds;          /* before this ledger */
    bool on_hold;         /* before this ledger, which may therefore have transactions of forgotten leases */
    int64_t hold_until_s; /* after this ledger; 0: not on hold */
    struct settle_notes notes;
    struct ledger_committed *out;
};

static const char sql_lock[] = "SELECT pg_try_advisory_xact_lock($1), pg_backend_pid()";

static const char sql_cursor[] = "SELECT c.sequence, c.term, c.held_until, c.clock, c.same_database,"
                                 " " SERVER_HAS_SYNCHRONOUS_STANDBY " FROM fairway.lock_cursor() c";

/* Whether the cursor is where this leader left it, under its term and in its session. */
static enum err check_lead(
    const struct lead *lead, const struct db_rows *lock, const struct db_rows *cursor, struct detail *detail)
{
    if (db_i32(lock, 0, 1) != lead->backend)
        return detail_set(detail, ERR_NOT_LEADER, "the session that took the lead has ended");
    if (!db_bool(lock, 0, 0))
        return detail_set(detail, ERR_NOT_LEADER, "another replica is in a ledger transaction");
    bool found = db_count(cursor) == 1;
    if (found != lead->cursor.known)
        return detail_set(detail, ERR_NOT_LEADER, "another replica has committed the first ledger");
    if (found && (db_i64(cursor, 0, 1) != lead->term || db_i64(cursor, 0, 0) != lead->cursor.sequence))
        return detail_set(detail, ERR_NOT_LEADER, "another replica has taken over");
    if (found && !db_bool(cursor, 0, 4))
        return detail_set(detail, ERR_NOT_LEADER,
            "the database was restored or failed over after this replica took the lead");
    return ERR_OK;
}

static void read_hold(struct ledger_tx *tx, const struct db_rows *cursor)
{
    tx->out->standby_known = db_count(cursor) == 1;
    tx->out->synchronous_standby = tx->out->standby_known && db_bool(cursor, 0, 5);
    tx->on_hold = db_count(cursor) == 1 && db_i64(cursor, 0, 2) != 0;
    if (!tx->on_hold)
        return;
    tx->hold_until_s = grants_hold_after(db_i64(cursor, 0, 2), (int64_t)tx->ledger->close_time_s,
        db_i64(cursor, 0, 3), tx->lead->ledger_seconds);
    tx->out->hold_ended = tx->hold_until_s == 0;
}

static enum err begin(struct ledger_tx *tx, struct detail *detail)
{
    const struct db_statement statements[] = {DB_BEGIN, DB_SQL(sql_lock, DB_I64(tx->lead->locks.ledger)),
        DB_SQL0(sql_cursor), submission_statement(), funds_statement()};
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(tx->lead->db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = check_lead(tx->lead, rows[1], rows[2], detail);
    if (e == ERR_OK)
        read_hold(tx, rows[2]);
    if (e == ERR_OK)
        e = submission_read(rows[3], &tx->submission, detail);
    if (e == ERR_OK)
        e = funds_read(rows[4], &tx->funds, detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    return e;
}

static enum err settle(struct ledger_tx *tx, struct detail *detail)
{
    struct settled *settled = &tx->out->settled;
    if (tx->gap == NULL) {
        const struct settle_terms terms = {.on_hold = tx->on_hold,
            .submitted = submission_succeeded(&tx->fate),
            .reads = tx->reads,
            .rereads = tx->rereads,
            .search = tx->lead->search,
            .notes = &tx->notes};
        return settle_ledger(tx->lead->db, tx->ledger, &terms, settled, tx->doubts, detail);
    }
    if (tx->submission.id != tx->gap->submission_id)
        return detail_set(
            detail, ERR_NOT_YET, "the submission of ensure-accounts changed while the accounts were read");
    return settle_gap(tx->lead->db, tx->ledger, &tx->gap->reads, tx->on_hold, &tx->notes, settled, detail);
}

/* After a gap the balance is unknown until it is read again: missing ledgers may have changed it. */
static enum err follow_funds(struct ledger_tx *tx, struct detail *detail)
{
    struct funds *after = &tx->out->funds;
    if (tx->gap != NULL) {
        *after = (struct funds){.bound = tx->funds.bound,
            .account = tx->funds.account,
            .base_reserve_stroops = tx->ledger->base_reserve_stroops};
        return funds_clear(tx->lead->db, detail);
    }
    return funds_step(
               &tx->funds, tx->ledger, tx->distribution, tx->lead->cursor.sequence, tx->funds_limits, after)
               ? funds_write(tx->lead->db, after, detail)
               : ERR_OK;
}

static const char sql_append[] =
    "SELECT fairway.append_ledger($1, $2, $3, $4, $5, $6, $7, $8, '" GRANTS_GAP_REASON "')";

/* Before the accounts are settled: fairway.settle_accounts lets leases expire by ledgers that it sees. */
static enum err append(struct ledger_tx *tx, struct detail *detail)
{
    const struct ledger *ledger = tx->ledger;
    AUTO_ROWS rows = NULL;
    enum err e = db_query(tx->lead->db,
        DB_SQL(sql_append, DB_I64(ledger->sequence), DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
            DB_BYTEA(BYTES_OF(ledger->previous_hash.bytes)), DB_I32((int32_t)ledger->protocol),
            DB_I64((int64_t)ledger->close_time_s), DB_I32((int32_t)ledger->transaction_count),
            DB_I64(tx->lead->term), DB_I64(tx->hold_until_s)),
        &rows, detail);
    if (e == ERR_OK)
        tx->out->lag_s = db_i64(rows, 0, 0);
    return e;
}

static const char sql_finish[] = "SELECT fairway.finish_ledger($1, $2, $3, $4)";

/* Decides the submission, COMMIT. */
static enum err finish(struct ledger_tx *tx, struct detail *detail)
{
    const struct db_statement statement = DB_SQL(sql_finish, DB_I32((int32_t)tx->out->settled.released),
        DB_I64(tx->submission.id), DB_TEXT(tx->fate.state), DB_TEXT(tx->fate.result_code));
    return db_run_commit(tx->lead->db, &statement, 1, NULL, detail);
}

static void judge_submission(struct ledger_tx *tx)
{
    if (tx->gap != NULL)
        tx->fate = tx->gap->fate;
    else if (tx->submission.any)
        tx->fate = submission_judge(&tx->submission, tx->ledger);
}

/* Until COMMIT has been answered, it is not known whether any of the notes is true. */
static void log_notes(struct ledger_tx *tx, enum err e)
{
    if (e == ERR_OK || e == ERR_NOT_REPLICATED)
        commit_log_accounts(tx->ledger->sequence, &tx->notes);
    else if (e == ERR_OUTCOME_UNKNOWN)
        lead_keep_notes(tx->lead, tx->ledger->sequence, &tx->notes);
    settle_notes_free(&tx->notes);
}

static enum err run(struct ledger_tx *tx, struct detail *detail)
{
    enum err e = begin(tx, detail);
    if (e == ERR_OK)
        judge_submission(tx);
    if (e == ERR_OK)
        e = append(tx, detail);
    if (e == ERR_OK)
        e = settle(tx, detail);
    if (e == ERR_OK)
        e = follow_funds(tx, detail);
    if (e == ERR_OK)
        e = finish(tx, detail);
    log_notes(tx, e);
    if (e != ERR_OK) {
        db_rollback(tx->lead->db);
        return e;
    }
    tx->lead->cursor = cursor_after(tx->ledger);
    tx->lead->search = tx->out->settled.search;
    if (tx->rereads || tx->gap != NULL || tx->out->settled.unread > 0)
        tx->lead->none_unread = tx->out->settled.unread == 0;
    return ERR_OK;
}

/* Twice, if the first transaction finds that accounts have to be read. Accounts that are stored in between
 * may need another read: the next step of ingestion begins again. */
static enum err run_confirmed(const struct ledger_tx *tx, struct confirm *confirm, struct detail *detail)
{
    struct settle_doubts doubts CLEANUP(settle_doubts_free) = {0}, later CLEANUP(settle_doubts_free) = {0};
    struct settle_reads reads CLEANUP(settle_reads_free) = {0};
    struct ledger_tx first = *tx, second = *tx;
    first.doubts = &doubts;
    enum err e = run(&first, detail);
    if (e != ERR_NOT_YET || (doubts.count == 0 && !doubts.frozen))
        return e;
    if ((e = confirm_read(confirm, tx->ledger->sequence, &doubts, &reads, detail)) != ERR_OK)
        return e;
    *tx->out = (struct ledger_committed){0};
    second.doubts = &later;
    second.reads = &reads;
    return run(&second, detail);
}

enum err ledger_commit(struct lead *lead, struct confirm *confirm, const struct rpc_ledger *received,
    const struct account_snapshot *distribution, struct ledger_committed *out, struct detail *detail)
{
    struct ledger ledger CLEANUP(ledger_free) = {0};
    *out = (struct ledger_committed){0};
    enum err e = ledger_decode(received->meta, &lead->network, &ledger, detail);
    if (e == ERR_OK)
        e = cursor_check(&lead->cursor, received, &ledger, detail);
    if (e == ERR_OK)
        e = run_confirmed(&(struct ledger_tx){.lead = lead,
                              .ledger = &ledger,
                              .distribution = distribution,
                              .funds_limits = confirm->funds,
                              .rereads = !lead->none_unread && confirm_rereads(confirm),
                              .out = out},
            confirm, detail);
    return e;
}

enum err ledger_commit_after_gap(struct lead *lead, const struct gap_evidence *evidence,
    struct ledger_committed *out, struct detail *detail)
{
    *out = (struct ledger_committed){0};
    return run(
        &(struct ledger_tx){.lead = lead, .ledger = &evidence->ledger, .gap = evidence, .out = out}, detail);
}

/* ---- the log */

/* A leader logs a missing standby with its first ledger, even when the start of this process has logged it
 * (cmd/fairway/access_steps.c): the standby may have been removed between the two. After that, it logs
 * changes. */
static void log_standby(struct commit_log *log, bool missing)
{
    if (log->synchronous && missing != log->standby_missing)
        log_line(missing ? LOG_WARN : LOG_INFO,
            missing
                ? "DATABASE_FAILOVER=synchronous, but no synchronous standby is configured: a failover may "
                  "lose leases"
                : "a synchronous standby is configured again",
            "synchronous_standby_names=%s", missing ? "empty" : "set");
    log->standby_missing = missing;
}

static void log_database(
    struct commit_log *log, const struct lead *lead, const struct ledger_committed *committed)
{
    if (committed->standby_known)
        log_standby(log, !committed->synchronous_standby);
    if (committed->hold_ended)
        log_info("the hold ended; leases are granted again", "ledger=%" PRIu32, lead->cursor.sequence);
}

#define SETTLED_FORMAT                                                                                       \
    " confirmed=%zu failed=%zu superseded=%zu expired=%zu consumed=%zu created=%zu retired=%zu"              \
    " quarantined=%zu"
#define SETTLED_VALUES(settled)                                                                              \
    (settled)->confirmed, (settled)->failed, (settled)->superseded, (settled)->expired, (settled)->consumed, \
        (settled)->created, (settled)->retired, (settled)->quarantined

void commit_log_ledger(
    struct commit_log *log, const struct lead *lead, bool first, const struct ledger_committed *committed)
{
    const struct settled *settled = &committed->settled;
    const bool changed = settled->released + settled->created + settled->retired + settled->quarantined != 0;
    log_database(log, lead, committed);
    log_line(first || changed ? LOG_INFO : LOG_DEBUG,
        first ? "ingestion begins with this ledger" : "ledger committed",
        "ledger=%" PRIu32 " lag_s=%" PRId64 SETTLED_FORMAT, lead->cursor.sequence, committed->lag_s,
        SETTLED_VALUES(settled));
}

void commit_log_gap(struct commit_log *log, const struct lead *lead, uint32_t after_ledger,
    const struct ledger_committed *committed)
{
    log_database(log, lead, committed);
    log_warn("gap recovered", "after_ledger=%" PRIu32 " ledger=%" PRIu32 SETTLED_FORMAT, after_ledger,
        lead->cursor.sequence, SETTLED_VALUES(&committed->settled));
}

void commit_log_unsure(struct lead *lead, uint32_t cursor)
{
    if (lead->unsure_ledger <= cursor)
        commit_log_accounts(lead->unsure_ledger, &lead->unsure);
    else if (!lead->leads)
        return; /* the session that sent COMMIT may still run it */
    settle_notes_free(&lead->unsure);
}
