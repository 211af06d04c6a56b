#include "pool/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/submission.h"
#include "settle_write.h"

struct settlement {
    const struct settle_evidence *evidence;
    const struct settle_terms *terms;
    struct settle_doubts *doubts;
    struct settled *out;
    struct db_rows *signed_by_us; /* account and sequence number, sorted by account */
    struct db_rows *ended[3];     /* account and result of leases that ended: by hash, passed, expired */
    struct settle_account *accounts;
    size_t account_count;
};

static void settlement_free(struct settlement *settlement)
{
    db_rows_free(settlement->signed_by_us);
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        db_rows_free(settlement->ended[i]);
    free(settlement->accounts);
}

/* ---- leases that are settled by their hash */

/* Which of the ledger's transactions fairway signed, with open leases or ended ones. */
static const char sql_signed[] = "SELECT l.account, l.sequence FROM unnest($1::bytea[]) AS r (hash)"
                                 " JOIN fairway.leases l ON l.hash = r.hash ORDER BY l.account COLLATE \"C\"";

/* After a gap the transactions are not known one by one. No lease has ended since the cursor stopped, so only
 * an open one can have consumed a sequence number. */
static const char sql_signed_in_gap[] =
    "SELECT l.account, l.sequence FROM fairway.leases l WHERE l.settled_at IS NULL"
    " ORDER BY l.account COLLATE \"C\"";

static const char sql_settle[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = r.ledger, result_code = r.code,"
    " result = CASE r.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END"
    " FROM unnest($1::bytea[], $2::text[], $3::int8[]) AS r (hash, code, ledger)"
    " WHERE l.hash = r.hash AND l.settled_at IS NULL RETURNING l.account, l.result";

/* Locks the accounts, so that none is leased before the COMMIT. Grants skip locked rows: no deadlock. */
static const char sql_lock[] = "SELECT n.ordinal - 1, a.state, a.sequence, a.sequence_ledger,"
                               " coalesce((SELECT l.sequence FROM fairway.leases l"
                               "   WHERE l.account = a.public_key AND l.settled_at IS NULL), 0),"
                               " " SUBMISSION_KIND " IS NOT NULL"
                               " FROM unnest($1::text[]) WITH ORDINALITY AS n (public_key, ordinal)"
                               " JOIN fairway.channel_accounts a ON a.public_key = n.public_key"
                               " WHERE a.state <> 'retired' ORDER BY a.public_key COLLATE \"C\""
                               " FOR UPDATE OF a";

static enum err read_accounts(
    struct settlement *settlement, const struct db_rows *rows, struct detail *detail)
{
    settlement->accounts = NEW_ARRAY(db_count(rows), struct settle_account);
    for (size_t i = 0; i < db_count(rows); i++) {
        struct settle_account *account = &settlement->accounts[settlement->account_count++];
        account->evidence = &settlement->evidence->accounts[db_i64(rows, i, 0)];
        if (account_state_parse(db_text(rows, i, 1), &account->row.state) != ERR_OK)
            return detail_set(
                detail, ERR_INTERNAL, "account %s has an unknown state", account->evidence->address);
        account->row.known = !db_is_null(rows, i, 2);
        if (account->row.known) {
            account->row.sequence = db_i64(rows, i, 2);
            account->row.sequence_ledger = db_i64(rows, i, 3);
        }
        if (!settlement->evidence->gap) /* there, a lease that the reads have passed ends too */
            account->row.lease_sequence = db_i64(rows, i, 4);
        account->submitted = db_bool(rows, i, 5);
    }
    return ERR_OK;
}

static enum err settle_by_hash(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct settle_evidence *evidence = settlement->evidence;
    const struct db_param hashes = DB_BYTEAS(evidence->hashes, evidence->count),
                          addresses = DB_TEXTS(evidence->addresses, evidence->account_count);
    const struct db_statement statements[] = {
        evidence->gap ? DB_SQL0(sql_signed_in_gap) : (struct db_statement){sql_signed, &hashes, 1},
        DB_SQL(sql_settle, hashes, DB_TEXTS(evidence->codes, evidence->count),
            DB_I64S(evidence->ledgers, evidence->count)),
        {sql_lock, &addresses, 1},
    };
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    settlement->signed_by_us = rows[0];
    settlement->ended[0] = rows[1];
    if (e == ERR_OK)
        e = read_accounts(settlement, rows[2], detail);
    db_rows_free(rows[2]);
    return e;
}

static const char sql_unread[] =
    "SELECT a.public_key FROM fairway.channel_accounts a WHERE a.state <> 'retired'"
    " AND NOT EXISTS (SELECT FROM unnest($1::text[]) AS n (public_key) WHERE n.public_key = a.public_key)"
    " LIMIT 1";

/* After a gap there must be evidence about every account: one that was stored after the reads may have been
 * created before the new cursor, and no later ledger would show that. */
static enum err check_all_read(const struct settle_evidence *evidence, struct db *db, struct detail *detail)
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

/* ---- the accounts */

/* Whether a transaction of ours consumed exactly this sequence number of the account. A ledger includes one
 * transaction of a source, so an account is in the rows at most once. */
static bool signed_by_us(const struct db_rows *rows, const char *address, int64_t sequence)
{
    for (size_t low = 0, high = db_count(rows); low < high;) {
        size_t middle = (low + high) / 2;
        int order = strcmp(address, db_text(rows, middle, 0));
        if (order == 0)
            return db_i64(rows, middle, 1) == sequence;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool follow_gap(struct settlement *settlement, struct settle_account *account)
{
    const struct account_snapshot *read = account->evidence->read;
    bool ours = signed_by_us(settlement->signed_by_us, account->evidence->address, read->account.sequence);
    return account_state_after_gap(
        &account->row, &read->account, read->ledger, ours, settlement->terms->on_hold);
}

static void doubt(struct settlement *settlement, const struct public_key *key)
{
    struct settle_doubts *doubts = settlement->doubts;
    if (doubts->keys == NULL)
        doubts->keys = NEW_ARRAY(settlement->account_count, struct public_key);
    doubts->keys[doubts->count++] = *key;
}

static void log_refuted(const struct settlement *settlement, const struct account_evidence *evidence)
{
    log_error("the metadata of a ledger claims a change of a channel account that was not there when the "
              "account was read: nothing is changed",
        "account=%s ledger=%u", evidence->address, settlement->evidence->sequence);
}

static bool follow_ledger(struct settlement *settlement, struct settle_account *account)
{
    const struct account_evidence *evidence = account->evidence;
    struct account_news news = {.ledger = settlement->evidence->sequence,
        .on_hold = settlement->terms->on_hold,
        .consumed = evidence->consumed,
        .ours = signed_by_us(settlement->signed_by_us, evidence->address, evidence->consumed),
        .submitted = settlement->terms->submitted && account->submitted,
        .seen = evidence->seen};
    if (evidence->read != NULL) {
        news.read = &evidence->read->account;
        news.read_ledger = evidence->read->ledger;
    }
    enum account_verdict verdict = account_state_after_ledger(&account->row, &news);
    if (verdict == ACCOUNT_DOUBTFUL)
        doubt(settlement, &evidence->key);
    if (verdict == ACCOUNT_REFUTED)
        log_refuted(settlement, evidence);
    return verdict == ACCOUNT_CHANGED || (verdict == ACCOUNT_REFUTED && evidence->consumed != 0);
}

/* The list of frozen keys is part of the metadata too. */
static bool is_frozen(struct settlement *settlement, const struct account_evidence *evidence)
{
    const struct settle_reads *reads = settlement->terms->reads;
    if (!evidence->frozen || settlement->evidence->gap)
        return evidence->frozen;
    if (reads == NULL || !reads->frozen_read) {
        settlement->doubts->frozen = true;
        return false;
    }
    return frozen_has(&reads->frozen, &evidence->key);
}

static void change_account(struct settlement *settlement, struct settle_account *account)
{
    enum account_state before = account->row.state;
    account->followed = (settlement->evidence->gap ? follow_gap : follow_ledger)(settlement, account);
    bool frozen = is_frozen(settlement, account->evidence) && account_state_freeze(&account->row);
    account->changed = account->followed || frozen;
    if (account->row.state == before)
        return;
    settlement->out->created += account->row.state == ACCOUNT_ACTIVE;
    settlement->out->retired += account->row.state == ACCOUNT_RETIRED;
    settlement->out->quarantined += account->row.state == ACCOUNT_QUARANTINED;
}

static void log_quarantined(const struct settlement *settlement)
{
    for (size_t i = 0; i < settlement->account_count; i++) {
        const struct settle_account *account = &settlement->accounts[i];
        if (account->row.reason != NULL)
            log_error("channel account quarantined", "account=%s ledger=%u reason=\"%s\"",
                account->evidence->address, settlement->evidence->sequence, account->row.reason);
    }
}

static enum err change_accounts(struct settlement *settlement, struct detail *detail)
{
    struct settle_doubts *doubts = settlement->doubts;
    for (size_t i = 0; i < settlement->account_count; i++)
        change_account(settlement, &settlement->accounts[i]);
    if (doubts->count > 0) /* the rows came in the order of addresses */
        qsort(doubts->keys, doubts->count, sizeof doubts->keys[0], public_key_compare);
    if (doubts->count > 0 || doubts->frozen)
        return detail_set(detail, ERR_NOT_YET, "the metadata of ledger %u claims changes that were not read",
            settlement->evidence->sequence);
    log_quarantined(settlement);
    return ERR_OK;
}

/* ---- leases that are settled by sequence number and time */

/* An open lease whose sequence number is consumed can never be included. */
static const char sql_pass[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $3, result = $4"
    " FROM unnest($1::text[], $2::int8[]) AS n (account, sequence)"
    " WHERE l.account = n.account AND l.settled_at IS NULL AND l.sequence <= n.sequence"
    " RETURNING l.account, l.result";

/* A max time strictly below the close time is safe for every protocol (CAP-88). Max ledger is exclusive
 * (CAP-21). */
static const char sql_expire[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $1, result = 'expired'"
    " WHERE l.settled_at IS NULL AND (l.max_time < $2 OR l.max_ledger <= $1 + 1)"
    " RETURNING l.account, l.result";

/* The sequence number up to which the account's are consumed: proved by the ledger, or read after a gap. */
static int64_t passed(const struct settlement *settlement, const struct settle_account *account)
{
    const struct account_snapshot *read = account->evidence->read;
    if (!settlement->evidence->gap)
        return account->evidence->consumed;
    if (!account->followed)
        return 0;
    return read->account.removed ? INT64_MAX : read->account.sequence;
}

static enum err settle_by_state(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct settle_evidence *evidence = settlement->evidence;
    const char **accounts AUTO_FREE = NEW_ARRAY(settlement->account_count, const char *);
    int64_t *sequences AUTO_FREE = NEW_ARRAY(settlement->account_count, int64_t);
    size_t count = 0;
    for (size_t i = 0; i < settlement->account_count; i++) {
        const int64_t sequence = passed(settlement, &settlement->accounts[i]);
        if (sequence == 0)
            continue;
        accounts[count] = settlement->accounts[i].evidence->address;
        sequences[count++] = sequence;
    }
    const struct db_statement statements[] = {
        DB_SQL(sql_pass, DB_TEXTS(accounts, count), DB_I64S(sequences, count), DB_I64(evidence->sequence),
            DB_TEXT(evidence->gap ? "consumed" : "superseded")),
        DB_SQL(sql_expire, DB_I64(evidence->sequence), DB_I64((int64_t)evidence->close_time_s)),
    };
    return db_run(db, statements, ARRAY_LEN(statements), &settlement->ended[1], detail);
}

/* ---- all steps */

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

/* The texts belong to settlement->ended. */
static struct settle_ended ended_of(const struct settlement *settlement)
{
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        total += db_count(settlement->ended[i]);
    struct settle_ended ended = {NEW_ARRAY(total, const char *), 0};
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        for (size_t row = 0; row < db_count(settlement->ended[i]); row++) {
            ended.accounts[ended.count++] = db_text(settlement->ended[i], row, 0);
            count_result(settlement->out, db_text(settlement->ended[i], row, 1));
        }
    qsort(ended.accounts, ended.count, sizeof ended.accounts[0], compare_texts);
    return ended;
}

static enum err settle(struct settlement *settlement, struct db *db, struct detail *detail)
{
    enum err e = settle_by_hash(settlement, db, detail);
    if (e == ERR_OK)
        e = check_all_read(settlement->evidence, db, detail);
    if (e == ERR_OK)
        e = change_accounts(settlement, detail);
    if (e == ERR_OK)
        e = settle_by_state(settlement, db, detail);
    if (e != ERR_OK)
        return e;
    struct settle_ended ended = ended_of(settlement);
    e = settle_write(db, settlement->accounts, settlement->account_count, &ended, detail);
    free(ended.accounts);
    return e;
}

enum err settle_ledger(struct db *db, const struct ledger *ledger, const struct settle_terms *terms,
    struct settled *out, struct settle_doubts *doubts, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) =
        settle_evidence_of_ledger(ledger, terms->reads);
    *out = (struct settled){0};
    *doubts = (struct settle_doubts){0};
    struct settlement settlement CLEANUP(settlement_free) = {
        .evidence = &evidence, .terms = terms, .out = out, .doubts = doubts};
    return settle(&settlement, db, detail);
}

enum err settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads, bool on_hold,
    struct settled *out, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) = settle_evidence_of_gap(ledger, reads);
    const struct settle_terms terms = {.on_hold = on_hold};
    struct settle_doubts none = {0}; /* everything was read */
    *out = (struct settled){0};
    struct settlement settlement CLEANUP(settlement_free) = {
        .evidence = &evidence, .terms = &terms, .out = out, .doubts = &none};
    return settle(&settlement, db, detail);
}
