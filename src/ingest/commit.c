/* The ledger transaction: everything that a ledger changes becomes visible by one COMMIT, or nothing does. */
#include "base/mem.h"
#include "db/server.h"
#include "funds_step.h"
#include "pool/grants_allowed.h"
#include "lead.h"

static const char sql_enter[] = "SELECT pg_try_advisory_xact_lock($1), pg_backend_pid()";

static const char sql_cursor[] =
    "SELECT c.sequence, c.term, coalesce(c.held_until, 0),"
    " floor(extract(epoch FROM clock_timestamp()))::int8,"
    " " GRANTS_SAME_DATABASE ", " SERVER_HAS_SYNCHRONOUS_STANDBY " FROM fairway.cursor c FOR UPDATE";

static const char sql_ledger[] =
    "INSERT INTO fairway.ledgers"
    " (sequence, hash, previous_hash, protocol, close_time, transaction_count, settled_count)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)";

#define LAG " floor(extract(epoch FROM clock_timestamp()))::int8 - close_time"

static const char sql_begin_cursor[] = "INSERT INTO fairway.cursor (sequence, hash, close_time, term)"
                                       " VALUES ($1, $2, $3, $4) RETURNING" LAG;

#define SET_GRANTS GRANTS_AFTER_LEDGER("$5")
static const char sql_move_cursor[] =
    "UPDATE fairway.cursor SET sequence = $1, hash = $2, close_time = $3," SET_GRANTS
    " WHERE term = $4 RETURNING" LAG;

struct writing {
    struct lead *lead;
    const struct ledger *ledger;
    const struct gap_evidence *gap; /* NULL: the ledger follows from the last one */
    struct submission submission;
    struct funds funds; /* before this ledger */
    bool held; /* until this ledger at least: by it, at the latest, forgotten leases may be included */
    int64_t held_until_s; /* from this ledger on; 0: no more */
    struct ledger_committed *out;
};

/* Whether the cursor is still where this leader left it, under its term and in its session. */
static enum err check_lead(const struct lead *lead, const struct db_rows *entered,
    const struct db_rows *cursor, struct detail *detail)
{
    if (db_i32(entered, 0, 1) != lead->backend)
        return detail_set(detail, ERR_NOT_LEADER, "the session that held the lock is gone");
    if (!db_bool(entered, 0, 0))
        return detail_set(detail, ERR_NOT_LEADER, "another ingester is in a ledger transaction");
    bool there = db_count(cursor) == 1;
    if (there != lead->at.known)
        return detail_set(detail, ERR_NOT_LEADER, "another ingester began this database");
    if (there && (db_i64(cursor, 0, 1) != lead->term || db_i64(cursor, 0, 0) != lead->at.sequence))
        return detail_set(detail, ERR_NOT_LEADER, "another ingester has taken over");
    if (there && !db_bool(cursor, 0, 4))
        return detail_set(detail, ERR_NOT_LEADER, "the database is not the one that this leader took over");
    return ERR_OK;
}

static void read_hold(struct writing *writing, const struct db_rows *cursor)
{
    writing->out->synchronous_standby = db_count(cursor) == 1 && db_bool(cursor, 0, 5);
    writing->held = db_count(cursor) == 1 && db_i64(cursor, 0, 2) != 0;
    if (!writing->held)
        return;
    writing->held_until_s = grants_hold_after(db_i64(cursor, 0, 2), (int64_t)writing->ledger->close_time_s,
        db_i64(cursor, 0, 3), writing->lead->ledger_seconds);
    writing->out->hold_ended = writing->held_until_s == 0;
}

static enum err enter(struct writing *writing, struct detail *detail)
{
    struct db_statement statements[DB_BEGIN_STATEMENTS + 4];
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    size_t begin = db_begin_statements(writing->lead->db, statements), count = begin;
    const struct db_param lock = DB_I64(writing->lead->locks.ledger);
    statements[count++] = (struct db_statement){sql_enter, &lock, 1};
    statements[count++] = DB_SQL0(sql_cursor);
    statements[count++] = submission_statement();
    statements[count++] = funds_statement();
    enum err e = db_run(writing->lead->db, statements, count, rows, detail);
    if (e == ERR_OK)
        e = check_lead(writing->lead, rows[begin], rows[begin + 1], detail);
    if (e == ERR_OK)
        read_hold(writing, rows[begin + 1]);
    if (e == ERR_OK)
        e = submission_read(rows[begin + 2], &writing->submission, detail);
    if (e == ERR_OK)
        e = funds_read(rows[begin + 3], &writing->funds, detail);
    for (size_t i = 0; i < count; i++)
        db_rows_free(rows[i]);
    return e;
}

static enum err leave(struct writing *writing, struct detail *detail)
{
    const struct ledger *ledger = writing->ledger;
    const struct settled *settled = &writing->out->settled;
    struct submission_fate fate = {NULL, NULL};
    if (writing->gap != NULL)
        fate = writing->gap->fate;
    else if (writing->submission.any)
        fate = submission_judge(&writing->submission, ledger);
    const struct db_param sequence = DB_I64(ledger->sequence), hash = DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
                          close_time = DB_I64((int64_t)ledger->close_time_s),
                          term = DB_I64(writing->lead->term);
    const struct db_statement statements[] = {
        writing->lead->at.known
            ? DB_SQL(sql_move_cursor, sequence, hash, close_time, term, DB_I64(writing->held_until_s))
            : DB_SQL(sql_begin_cursor, sequence, hash, close_time, term),
        DB_SQL(sql_ledger, sequence, hash, DB_BYTEA(BYTES_OF(ledger->previous_hash.bytes)),
            DB_I32((int32_t)ledger->protocol), close_time, DB_I32((int32_t)ledger->transaction_count),
            DB_I32((int32_t)settled->released)),
        DB_SQL(submission_decide_sql, DB_I64(writing->submission.id), DB_TEXT(fate.state),
            DB_TEXT(fate.result_code), sequence),
    };
    size_t count = ARRAY_LEN(statements) - (fate.state == NULL);
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run_commit(writing->lead->db, statements, count, rows, detail);
    if (e == ERR_OK)
        writing->out->lag_s = db_i64(rows[0], 0, 0);
    for (size_t i = 0; i < count; i++)
        db_rows_free(rows[i]);
    return e;
}

static enum err settle(struct writing *writing, struct detail *detail)
{
    const struct gap_evidence *gap = writing->gap;
    struct settled *settled = &writing->out->settled;
    if (gap == NULL)
        return settle_ledger(writing->lead->db, writing->ledger, writing->held, settled, detail);
    if (writing->submission.id != gap->provisioning)
        return detail_set(detail, ERR_NOT_YET, "ensure-accounts went on while accounts were read");
    return settle_gap(writing->lead->db, writing->ledger, gap->reads, writing->held, settled, detail);
}

/* Lost ledgers may have changed the account: it is read again. */
static enum err follow_funds(struct writing *writing, struct detail *detail)
{
    const struct lead *lead = writing->lead;
    struct funds *after = &writing->out->funds;
    if (writing->gap != NULL) {
        *after = (struct funds){.bound = writing->funds.bound, .account = writing->funds.account};
        return funds_clear(lead->db, detail);
    }
    return funds_step(&writing->funds, writing->ledger, lead->distribution, lead->at.sequence, after)
               ? funds_write(lead->db, after, detail)
               : ERR_OK;
}

static enum err write_ledger(struct writing *writing, struct detail *detail)
{
    enum err e = enter(writing, detail);
    if (e == ERR_OK)
        e = settle(writing, detail);
    if (e == ERR_OK)
        e = follow_funds(writing, detail);
    if (e == ERR_OK)
        e = leave(writing, detail);
    if (e != ERR_OK)
        db_rollback(writing->lead->db);
    else
        writing->lead->at = cursor_after(writing->ledger);
    return e;
}

enum err lead_commit(
    struct lead *lead, const struct rpc_ledger *named, struct ledger_committed *out, struct detail *detail)
{
    struct ledger ledger CLEANUP(ledger_free) = {0};
    *out = (struct ledger_committed){0};
    enum err e = ledger_decode(named->meta, &ledger, detail);
    if (e == ERR_OK)
        e = cursor_check(&lead->at, named, &ledger, detail);
    if (e == ERR_OK)
        e = write_ledger(&(struct writing){.lead = lead, .ledger = &ledger, .out = out}, detail);
    return e;
}

enum err lead_commit_after_gap(struct lead *lead, const struct ledger *ledger, const struct gap_evidence *gap,
    struct ledger_committed *out, struct detail *detail)
{
    *out = (struct ledger_committed){0};
    return write_ledger(&(struct writing){.lead = lead, .ledger = ledger, .gap = gap, .out = out}, detail);
}
