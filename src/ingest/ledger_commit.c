/* The ledger transaction, and its log lines. What a ledger means for an account, pool/settle.c decides. */
#include "ledger_commit.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "stellar/protocol.h"
#include "gap.h"

struct ledger_tx {
    struct lead *lead;
    const struct ledger *ledger;
    const struct gap_evidence *gap;              /* NULL: the ledger follows from the cursor */
    const struct account_snapshot *distribution; /* NULL: not read */
    struct provisioning_list provisioning;       /* of ensure-accounts */
    struct funds funds;                          /* before this ledger */
    bool on_hold;         /* before this ledger, which may therefore have transactions of forgotten leases */
    int64_t hold_until_s; /* after this ledger; 0: not on hold */
    int64_t set_back_until_s; /* this ledger shows that the database was set back: a hold has begun; else 0 */
    struct settle_notes notes;
    struct lease_ends ends;
    struct ledger_committed *out;
};

static const char sql_lock[] = "SELECT pg_try_advisory_xact_lock($1), pg_backend_pid()";

static const char sql_cursor[] =
    "SELECT c.sequence, c.term, c.held_until, c.clock, c.same_database FROM fairway.lock_cursor() c";

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
    tx->on_hold = db_count(cursor) == 1 && db_i64(cursor, 0, 2) != 0;
    if (!tx->on_hold)
        return;
    tx->hold_until_s = grants_hold_after(
        db_i64(cursor, 0, 2), (int64_t)tx->ledger->close_time_s, db_i64(cursor, 0, 3), tx->lead->ledger_ms);
}

static enum err begin(struct ledger_tx *tx, struct detail *detail)
{
    const struct db_statement statements[] = {DB_BEGIN, DB_SQL(sql_lock, DB_I64(tx->lead->locks.ledger)),
        DB_SQL0(sql_cursor), DB_SQL0(provisioning_sql), DB_SQL0(funds_sql)};
    AUTO_ROWS_OF(rows, statements);
    enum err e = db_run(tx->lead->db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = check_lead(tx->lead, rows[1], rows[2], detail);
    if (e == ERR_OK)
        read_hold(tx, rows[2]);
    if (e == ERR_OK)
        e = provisioning_read_pending(rows[3], &tx->provisioning, detail);
    if (e == ERR_OK)
        e = funds_read(rows[4], &tx->funds, detail);
    return e;
}

static bool same_provisioning(const struct provisioning_list *a, const struct provisioning_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->items[i].id != b->items[i].id)
            return false;
    return a->count == b->count;
}

static enum err settle(struct ledger_tx *tx, struct detail *detail)
{
    struct settled *settled = &tx->out->settled;
    if (tx->gap == NULL) {
        const struct settle_terms terms = {.on_hold = tx->on_hold,
            .provisioning = &tx->provisioning,
            .distribution = tx->funds.bound ? &tx->funds.account : NULL,
            .search = &tx->lead->search,
            .notes = &tx->notes,
            .ends = &tx->ends};
        return settle_ledger(tx->lead->db, tx->ledger, &terms, settled, detail);
    }
    if (!same_provisioning(&tx->provisioning, &tx->gap->provisioning))
        return detail_set(
            detail, ERR_NOT_YET, "a transaction of ensure-accounts was stored while the accounts were read");
    return settle_gap(tx->lead->db, tx->ledger, &tx->gap->reads, tx->on_hold, &tx->notes, settled, detail);
}

static enum err follow_funds(struct ledger_tx *tx, struct detail *detail)
{
    const struct account_snapshot *read = tx->distribution;
    struct funds *after = &tx->out->funds;
    *after = tx->funds;
    after->base_reserve_stroops = tx->ledger->base_reserve_stroops;
    return read != NULL && funds_take(after, &read->account, read->ledger, after->base_reserve_stroops)
               ? funds_write(tx->lead->db, after, detail)
               : ERR_OK;
}

static const char sql_append[] =
    "SELECT fairway.append_ledger($1, $2, $3, $4, $5, $6, $7, '" GRANTS_GAP_REASON "', $8, $9, $10)";

/* Before the accounts are settled: fairway.settle_accounts lets leases expire by ledgers that it sees. */
static enum err append(struct ledger_tx *tx, struct detail *detail)
{
    const struct ledger *ledger = tx->ledger;
    AUTO_ROWS rows = NULL;
    enum err e = db_query(tx->lead->db,
        DB_SQL(sql_append, DB_I64(ledger->sequence), DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
            DB_I32((int32_t)ledger->protocol), DB_I64((int64_t)ledger->close_time_s),
            DB_I32((int32_t)ledger->transaction_count), DB_I64(tx->lead->term), DB_I64(tx->hold_until_s),
            DB_I32((int32_t)ledger->operation_total), DB_I32((int32_t)ledger->max_operations),
            DB_I64S(ledger->prices_stroops, LANE_COUNT)),
        &rows, detail);
    if (e == ERR_OK)
        tx->out->lag_s = db_i64(rows, 0, 0);
    return e;
}

static const char sql_finish[] = "SELECT fairway.finish_ledger($1, $2, $3, $4)";

/* Decides provisioning transactions, COMMIT. */
static enum err finish(struct ledger_tx *tx, struct detail *detail)
{
    const struct settled *settled = &tx->out->settled;
    const int64_t ends[] = {(int64_t)settled->confirmed, (int64_t)settled->failed, (int64_t)settled->expired,
        (int64_t)settled->superseded, (int64_t)settled->consumed};
    const struct provisioning_list *provisioning =
        tx->gap != NULL ? &tx->gap->provisioning : &tx->provisioning;
    int64_t *ids AUTO_FREE = NEW_ARRAY(provisioning->count, int64_t);
    const char **states AUTO_FREE = NEW_ARRAY(provisioning->count, const char *),
                        **codes AUTO_FREE = NEW_ARRAY(provisioning->count, const char *);
    size_t decided = 0;
    for (size_t i = 0; i < provisioning->count; i++) {
        const struct provisioning_pending *pending = &provisioning->items[i];
        if (pending->fate.state == NULL)
            continue;
        ids[decided] = pending->id;
        states[decided] = pending->fate.state;
        codes[decided++] = pending->fate.result_code;
    }
    const struct db_statement statement = DB_SQL(sql_finish, DB_I64S(ends, ARRAY_LEN(ends)),
        DB_I64S(ids, decided), DB_TEXTS(states, decided), DB_TEXTS(codes, decided));
    return db_run_commit(tx->lead->db, &statement, 1, NULL, detail);
}

static enum err hold(struct ledger_tx *tx, struct detail *detail)
{
    if (tx->on_hold || tx->out->settled.forgotten == 0)
        return ERR_OK;
    return grants_hold(
        tx->lead->db, GRANTS_SET_BACK_REASON, tx->lead->ledger_ms, &tx->set_back_until_s, detail);
}

/* After a gap the evidence has the fates. */
static void judge_provisioning(struct ledger_tx *tx)
{
    for (size_t i = 0; tx->gap == NULL && i < tx->provisioning.count; i++)
        tx->provisioning.items[i].fate = provisioning_judge(&tx->provisioning.items[i], tx->ledger);
}

/* ---- the log */

/* What a committed ledger did to accounts. When COMMIT had no answer, fairway.events alone has it. */
static void log_notes(const struct ledger_tx *tx)
{
    for (size_t i = 0; i < tx->notes.count; i++)
        log_error("channel account quarantined", "account=%s ledger=%" PRIu32 " reason=\"%s\"",
            tx->notes.items[i].address, tx->ledger->sequence, tx->notes.items[i].reason);
}

#define SETTLED_FORMAT                                                                                       \
    " confirmed=%zu failed=%zu superseded=%zu expired=%zu consumed=%zu created=%zu retired=%zu"              \
    " quarantined=%zu"
#define SETTLED_VALUES(settled)                                                                              \
    (settled)->confirmed, (settled)->failed, (settled)->superseded, (settled)->expired, (settled)->consumed, \
        (settled)->created, (settled)->retired, (settled)->quarantined

/* The cursor has not moved yet. */
static void log_committed(struct ledger_tx *tx)
{
    const struct settled *settled = &tx->out->settled;
    const struct cursor *before = &tx->lead->cursor;
    const uint32_t sequence = tx->ledger->sequence;
    const bool changed = settled->released + settled->created + settled->retired + settled->quarantined != 0;
    if (tx->set_back_until_s != 0)
        log_error("the database was set back: the network has transactions of leases that it does not have; "
                  "grants are on hold",
            "ledger=%" PRIu32 " transactions=%zu held_until=%" PRId64, sequence, settled->forgotten,
            tx->set_back_until_s);
    if (tx->on_hold && tx->hold_until_s == 0)
        log_info("the hold ended; leases are granted again", "ledger=%" PRIu32, sequence);
    if (tx->gap != NULL)
        log_warn("gap recovered", "after_ledger=%" PRIu32 " ledger=%" PRIu32 SETTLED_FORMAT, before->sequence,
            sequence, SETTLED_VALUES(settled));
    else
        log_line(!before->known || changed ? LOG_INFO : LOG_DEBUG,
            before->known ? "ledger committed" : "ingestion begins with this ledger",
            "ledger=%" PRIu32 " lag_s=%" PRId64 SETTLED_FORMAT, sequence, tx->out->lag_s,
            SETTLED_VALUES(settled));
}

/* ---- the whole */

static enum err run(struct ledger_tx *tx, struct detail *detail)
{
    enum err e = begin(tx, detail);
    if (e == ERR_OK)
        judge_provisioning(tx);
    if (e == ERR_OK)
        e = append(tx, detail);
    if (e == ERR_OK)
        e = settle(tx, detail);
    if (e == ERR_OK)
        e = hold(tx, detail);
    if (e == ERR_OK)
        e = follow_funds(tx, detail);
    if (e == ERR_OK)
        e = finish(tx, detail);
    if (e == ERR_OK && tx->ends.count > 0 && tx->lead->listener.ended != NULL)
        tx->lead->listener.ended(tx->lead->listener.context, &tx->ends);
    tx->out->told_us = clock_us();
    lease_ends_free(&tx->ends);
    provisioning_pending_free(&tx->provisioning);
    if (e == ERR_OK || e == ERR_NOT_REPLICATED)
        log_notes(tx);
    settle_notes_free(&tx->notes);
    if (e != ERR_OK)
        db_rollback(tx->lead->db);
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    log_committed(tx);
    tx->lead->cursor = cursor_after(tx->ledger);
    tx->out->may_freeze = tx->ledger->value.upgrades_config;
    if (tx->gap != NULL)
        settle_search_free(&tx->lead->search);
    settle_search_ahead(tx->lead->db, tx->ledger, &tx->lead->search);
    return e;
}

static void note_protocol(const struct ledger *ledger)
{
    protocol_note(ledger->protocol, "a ledger");
    protocol_note(ledger->value.upgrades_protocol, "an upgrade that the validators voted for");
}

enum err ledger_commit(struct lead *lead, const struct ledger *ledger,
    const struct account_snapshot *distribution, struct ledger_committed *out, struct detail *detail)
{
    *out = (struct ledger_committed){0};
    INVARIANT(!lead->cursor.known || (ledger->sequence == lead->cursor.sequence + 1 &&
                                         hash_equal(&ledger->previous_hash, &lead->cursor.hash)));
    note_protocol(ledger);
    return run(&(struct ledger_tx){.lead = lead, .ledger = ledger, .distribution = distribution, .out = out},
        detail);
}

enum err ledger_commit_after_gap(struct lead *lead, const struct gap_evidence *evidence,
    struct ledger_committed *out, struct detail *detail)
{
    *out = (struct ledger_committed){0};
    return run(
        &(struct ledger_tx){.lead = lead, .ledger = evidence->ledger, .gap = evidence, .out = out}, detail);
}
