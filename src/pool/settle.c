#include "pool/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "settle_write.h"

/* Which of the ledger's transactions fairway signed, whatever became of their leases since. */
static const char sql_ours[] = "SELECT l.account, l.sequence FROM unnest($1::bytea[]) AS r (hash)"
                               " JOIN fairway.leases l ON l.hash = r.hash ORDER BY l.account COLLATE \"C\"";

/* The same where transactions cannot be told one by one: since the cursor stood still, only an open lease can
 * have consumed anything. */
static const char sql_ours_in_gap[] =
    "SELECT l.account, l.sequence FROM fairway.leases l WHERE l.settled_at IS NULL"
    " ORDER BY l.account COLLATE \"C\"";

static const char sql_settle[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = r.ledger, result_code = r.code,"
    " result = CASE r.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END"
    " FROM unnest($1::bytea[], $2::text[], $3::int8[]) AS r (hash, code, ledger)"
    " WHERE l.hash = r.hash AND l.settled_at IS NULL RETURNING l.account, l.result";

/* Locked, so that no lease is granted on them between this look and the commit. Grants skip locked rows: no
 * deadlock. */
static const char sql_touched[] =
    "SELECT n.ordinal - 1, a.state, a.sequence, a.sequence_ledger"
    " FROM unnest($1::text[]) WITH ORDINALITY AS n (public_key, ordinal)"
    " JOIN fairway.channel_accounts a ON a.public_key = n.public_key"
    " WHERE a.state <> 'retired' ORDER BY a.public_key COLLATE \"C\" FOR UPDATE OF a";

/* Behind a gap there must be evidence about every account. */
static const char sql_unread[] =
    "SELECT a.public_key FROM fairway.channel_accounts a WHERE a.state <> 'retired'"
    " AND NOT EXISTS (SELECT FROM unnest($1::text[]) AS n (public_key) WHERE n.public_key = a.public_key)"
    " LIMIT 1";

/* An open lease whose sequence number is gone can never be included. */
static const char sql_supersede[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $3, result = $4"
    " FROM unnest($1::text[], $2::int8[]) AS n (account, sequence)"
    " WHERE l.account = n.account AND l.settled_at IS NULL AND l.sequence <= n.sequence RETURNING l.account, "
    "l.result";

/* Max time strictly below the close time is safe for every protocol (CAP-88); max ledger is exclusive
 * (CAP-21). */
static const char sql_expire[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $1, result = 'expired'"
    " WHERE l.settled_at IS NULL AND (l.max_time < $2 OR l.max_ledger <= $1 + 1) RETURNING l.account, "
    "l.result";

/* What is proved to the pool's rows, while it is being found out. */
struct settlement {
    const struct evidence *evidence;
    bool held;
    struct settled *out;
    struct db_rows *ours;
    struct db_rows *ended[3]; /* account and result of each lease that ended: by hash, passed, expired */
    struct touched *touched;
    size_t touched_count;
};

static void settlement_free(struct settlement *settlement)
{
    db_rows_free(settlement->ours);
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        db_rows_free(settlement->ended[i]);
    free(settlement->touched);
}

/* Whether a transaction of ours consumed exactly this sequence number of the account. The network includes
   one transaction of a source in a ledger, so an account stands in the rows at most once. */
static bool signed_by_us(const struct db_rows *ours, const char *address, int64_t sequence)
{
    for (size_t low = 0, high = db_count(ours); low < high;) {
        size_t middle = (low + high) / 2;
        int order = strcmp(address, db_text(ours, middle, 0));
        if (order == 0)
            return db_i64(ours, middle, 1) == sequence;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static enum err read_touched(struct settlement *settlement, const struct db_rows *rows, struct detail *detail)
{
    settlement->touched = NEW_ARRAY(db_count(rows), struct touched);
    for (size_t i = 0; i < db_count(rows); i++) {
        struct touched *touched = &settlement->touched[settlement->touched_count++];
        touched->evidence = &settlement->evidence->accounts[db_i64(rows, i, 0)];
        if (account_state_parse(db_text(rows, i, 1), &touched->row.state) != ERR_OK)
            return detail_set(
                detail, ERR_INTERNAL, "account %s has an unknown state", touched->evidence->address);
        touched->row.known = !db_is_null(rows, i, 2);
        if (touched->row.known) {
            touched->row.sequence = db_i64(rows, i, 2);
            touched->row.sequence_ledger = db_i64(rows, i, 3);
        }
    }
    return ERR_OK;
}

/* First: what is known by hash, and the lock on every account of ours about which there is evidence. */
static enum err settle_by_hash(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct evidence *evidence = settlement->evidence;
    const struct db_param hashes = DB_BYTEAS(evidence->hashes, evidence->count),
                          addresses = DB_TEXTS(evidence->addresses, evidence->account_count);
    const struct db_statement statements[] = {
        evidence->gap ? DB_SQL0(sql_ours_in_gap) : (struct db_statement){sql_ours, &hashes, 1},
        DB_SQL(sql_settle, hashes, DB_TEXTS(evidence->codes, evidence->count),
            DB_I64S(evidence->ledgers, evidence->count)),
        {sql_touched, &addresses, 1},
    };
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    settlement->ours = rows[0];
    settlement->ended[0] = rows[1];
    if (e == ERR_OK)
        e = read_touched(settlement, rows[2], detail);
    db_rows_free(rows[2]);
    return e;
}

/* An account that was stored while the network was being read may have been created before the new cursor. */
static enum err check_all_read(const struct evidence *evidence, struct db *db, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    if (!evidence->gap)
        return ERR_OK;
    enum err e = db_query(
        db, DB_SQL(sql_unread, DB_TEXTS(evidence->addresses, evidence->account_count)), &rows, detail);
    if (e == ERR_OK && db_count(rows) > 0)
        e = detail_set(
            detail, ERR_NOT_YET, "account %s was added while accounts were read", db_text(rows, 0, 0));
    return e;
}

static void transition(struct settlement *settlement, struct touched *touched)
{
    const struct account_evidence *evidence = touched->evidence;
    enum account_state before = touched->row.state;
    if (evidence->seen != NULL) {
        bool ours = signed_by_us(settlement->ours, evidence->address, evidence->seen->sequence);
        touched->mirrored =
            (settlement->evidence->gap ? account_state_after_gap : account_state_after_ledger)(
                &touched->row, evidence->seen, evidence->ledger, ours, settlement->held);
    }
    bool frozen = evidence->frozen && account_state_freeze(&touched->row);
    touched->changed = touched->mirrored || frozen;
    if (touched->row.state == before)
        return;
    settlement->out->created += touched->row.state == ACCOUNT_ACTIVE;
    settlement->out->retired += touched->row.state == ACCOUNT_RETIRED;
    settlement->out->quarantined += touched->row.state == ACCOUNT_QUARANTINED;
    if (touched->row.state == ACCOUNT_QUARANTINED)
        log_error("channel account quarantined", "account=%s ledger=%u reason=\"%s\"", evidence->address,
            evidence->ledger, touched->row.reason);
}

/* Then: leases whose account went past them, and leases that no later ledger can include. */
static enum err settle_by_state(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct evidence *evidence = settlement->evidence;
    const char **accounts AUTO_FREE = NEW_ARRAY(settlement->touched_count, const char *);
    int64_t *sequences AUTO_FREE = NEW_ARRAY(settlement->touched_count, int64_t);
    size_t count = 0;
    for (size_t i = 0; i < settlement->touched_count; i++) {
        const struct touched *touched = &settlement->touched[i];
        if (!touched->mirrored)
            continue;
        const struct ledger_account *seen = touched->evidence->seen;
        accounts[count] = touched->evidence->address;
        sequences[count++] = seen->removed ? INT64_MAX : seen->sequence;
    }
    const struct db_statement statements[] = {
        DB_SQL(sql_supersede, DB_TEXTS(accounts, count), DB_I64S(sequences, count),
            DB_I64(evidence->sequence), DB_TEXT(evidence->gap ? "consumed" : "superseded")),
        DB_SQL(sql_expire, DB_I64(evidence->sequence), DB_I64((int64_t)evidence->close_time_s)),
    };
    return db_run(db, statements, ARRAY_LEN(statements), &settlement->ended[1], detail);
}

static void count_result(struct settled *out, const char *result)
{
    out->released++;
    out->confirmed += strcmp(result, "confirmed") == 0;
    out->failed += strcmp(result, "failed") == 0;
    out->superseded += strcmp(result, "superseded") == 0;
    out->expired += strcmp(result, "expired") == 0;
    out->consumed += strcmp(result, "consumed") == 0;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The accounts of all leases that ended. The texts belong to settlement->ended. */
static struct ended ended_of(const struct settlement *settlement)
{
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        total += db_count(settlement->ended[i]);
    struct ended ended = {NEW_ARRAY(total, const char *), 0};
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        for (size_t row = 0; row < db_count(settlement->ended[i]); row++) {
            ended.accounts[ended.count++] = db_text(settlement->ended[i], row, 0);
            count_result(settlement->out, db_text(settlement->ended[i], row, 1));
        }
    qsort(ended.accounts, ended.count, sizeof ended.accounts[0], compare_texts);
    return ended;
}

static enum err settle(
    struct db *db, const struct evidence *evidence, bool held, struct settled *out, struct detail *detail)
{
    *out = (struct settled){0};
    struct settlement settlement CLEANUP(settlement_free) = {.evidence = evidence, .held = held, .out = out};
    enum err e = settle_by_hash(&settlement, db, detail);
    if (e == ERR_OK)
        e = check_all_read(evidence, db, detail);
    if (e == ERR_OK) {
        for (size_t i = 0; i < settlement.touched_count; i++)
            transition(&settlement, &settlement.touched[i]);
        e = settle_by_state(&settlement, db, detail);
    }
    if (e != ERR_OK)
        return e;
    struct ended ended = ended_of(&settlement);
    e = settle_write(db, settlement.touched, settlement.touched_count, &ended, detail);
    free(ended.accounts);
    return e;
}

enum err pool_settle(
    struct db *db, const struct ledger *ledger, bool held, struct settled *out, struct detail *detail)
{
    struct evidence evidence CLEANUP(evidence_free) = evidence_of_ledger(ledger);
    return settle(db, &evidence, held, out, detail);
}

enum err pool_settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads, bool held,
    struct settled *out, struct detail *detail)
{
    struct evidence evidence CLEANUP(evidence_free) = evidence_of_gap(ledger, reads);
    return settle(db, &evidence, held, out, detail);
}
