/* Decides which leases a ledger ends and how. No lease ends by a clock. */
#include "pool/settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/return_value.h"
#include "settle_read.h"

struct settlement {
    const struct settle_evidence *evidence;
    const struct settle_terms *terms;
    struct settled *out;
    struct settle_accounts accounts;
    bool on_hold;            /* grants are, or the ledger has a forgotten lease, and they will be */
    struct db_rows *history; /* account and sequence number of leases; may be NULL */
};

static void settlement_free(struct settlement *settlement)
{
    settle_accounts_free(&settlement->accounts);
    db_rows_free(settlement->history);
}

/* ---- what to log */

void settle_notes_free(struct settle_notes *notes)
{
    free(notes->items);
    *notes = (struct settle_notes){0};
}

static void note(const struct settlement *settlement, const char *address, const char *reason)
{
    struct settle_notes *notes = settlement->terms->notes;
    if (notes == NULL)
        return;
    if (notes->items == NULL)
        notes->items = NEW_ARRAY(settlement->accounts.count, struct settle_note);
    struct settle_note *added = &notes->items[notes->count++];
    *added = (struct settle_note){.reason = reason};
    snprintf(added->address, sizeof added->address, "%s", address);
}

/* ---- leases that end by their hash */

/* After a gap, the result does not tell the hash of a fee bump. */
static struct lease_outcome outcome_of(const struct transaction_evidence *evidence)
{
    const struct ledger_transaction *found = evidence->found;
    const struct lease_fate *fate = evidence->fate;
    if (found == NULL)
        return (struct lease_outcome){
            .result = {fate->result.len > 0 ? fate->result.bytes : NULL, fate->result.len}};
    return (struct lease_outcome){&found->hash, found->result, return_value(found->result, found->meta)};
}

static void end_by_hash(const struct settlement *settlement, struct settle_account *account)
{
    const struct transaction_evidence *found =
        account->leased ? settle_evidence_find(settlement->evidence, &account->lease.hash) : NULL;
    if (found == NULL)
        return;
    account->end =
        (struct settle_end){.result = strcmp(found->code, "txSUCCESS") == 0 ? "confirmed" : "failed",
            .code = found->code,
            .ledger = found->ledger,
            .outcome = outcome_of(found)};
    account->row.lease_sequence = 0;
}

/* ---- who consumed a sequence number */

/*
 * Whether the account's open lease consumed this sequence number: its transaction is in the ledger, or, after
 * a gap, the number is the lease's. After a gap transactions are not known one by one, and no lease has ended
 * since the cursor stopped.
 */
static bool consumed_by_lease(
    const struct settlement *settlement, const struct settle_account *account, int64_t sequence)
{
    return account->leased && account->lease.sequence == sequence &&
           (settlement->evidence->gap || account->end.result != NULL);
}

/* Whether a transaction of a lease that has ended consumed exactly this sequence number. A ledger includes
 * one transaction of a source, so an account is in the rows at most once. They are few. */
static bool consumed_by_ended_lease(const struct db_rows *rows, const char *address, int64_t sequence)
{
    for (size_t row = 0; row < db_count_at_most(rows, DB_ANY_COUNT); row++)
        if (strcmp(address, db_text(rows, row, 0)) == 0)
            return db_i64(rows, row, 1) == sequence;
    return false;
}

static bool signed_by_us(
    const struct settlement *settlement, const struct settle_account *account, int64_t sequence)
{
    return consumed_by_lease(settlement, account, sequence) ||
           (settlement->history != NULL &&
               consumed_by_ended_lease(settlement->history, account->address, sequence));
}

/* A transaction is in a ledger at most LEASE_SECONDS_MAX after its grant. $2: the close time. */
static const char sql_signed[] =
    "SELECT l.account, l.sequence FROM fairway.find_in_hours($1, ARRAY(SELECT"
    "  date_trunc('hour', to_timestamp($2::int8)) + n * interval '1 hour' FROM generate_series(-1, 1) n)) g"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.leases m"
    "  WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(g.granted_at, g.hash)"
    "   AND m.hash = g.hash AND m.granted_at = g.granted_at LIMIT 1) l";

/* The hashes of the transactions whose sources have a sequence number that no open lease explains; returns
 * how many, at most one for each transaction. */
static size_t unexplained(const struct settlement *settlement, struct bytes hashes[])
{
    const struct settle_evidence *evidence = settlement->evidence;
    size_t count = 0;
    for (size_t i = 0; i < settlement->accounts.count; i++) {
        const struct settle_account *account = &settlement->accounts.items[i];
        if (account->evidence == NULL || account->evidence->consumed == 0 ||
            consumed_by_lease(settlement, account, account->evidence->consumed))
            continue;
        for (size_t t = 0; t < evidence->transaction_count; t++)
            if (strcmp(evidence->transactions[t].source, account->address) == 0)
                hashes[count++] = BYTES_OF(evidence->transactions[t].hash.bytes);
    }
    return count;
}

/* Reads which of these transactions fairway signed, with leases that have ended. That is rare. */
static enum err read_history(struct settlement *settlement, struct db *db, struct detail *detail)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(settlement->evidence->transaction_count, struct bytes);
    const size_t count = unexplained(settlement, hashes);
    if (count == 0 || settlement->evidence->gap)
        return ERR_OK;
    return db_query(db,
        DB_SQL(sql_signed, DB_BYTEAS(hashes, count), DB_I64((int64_t)settlement->evidence->close_time_s)),
        &settlement->history, detail);
}

/* The transaction of a lease that the database does not have; NULL: none. */
static const struct transaction_evidence *forgotten_of(
    const struct settlement *settlement, const struct settle_account *account)
{
    const struct settle_evidence *evidence = settlement->evidence;
    const int64_t consumed = account->evidence != NULL ? account->evidence->consumed : 0;
    if (consumed == 0 || signed_by_us(settlement, account, consumed))
        return NULL;
    for (size_t t = 0; t < evidence->transaction_count; t++) {
        const struct transaction_evidence *transaction = &evidence->transactions[t];
        if (transaction->bumped_by != NULL && strcmp(transaction->source, account->address) == 0 &&
            public_key_equal(transaction->bumped_by, settlement->terms->distribution))
            return transaction;
    }
    return NULL;
}

static const char sql_forgotten[] = "SELECT fairway.record_forgotten($1, $2, $3, $4, $5, $6, $7)";

static enum err record_forgotten(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const size_t count = settlement->terms->distribution == NULL ? 0 : settlement->accounts.count;
    struct bytes *bytes AUTO_FREE = NEW_ARRAY(4 * count, struct bytes);
    struct bytes *hashes = bytes, *bumps = bytes + count, *results = bumps + count, *values = results + count;
    const char **texts AUTO_FREE = NEW_ARRAY(2 * count, const char *), **codes = texts + count;
    int64_t *sequences AUTO_FREE = NEW_ARRAY(count, int64_t);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct settle_account *account = &settlement->accounts.items[i];
        const struct transaction_evidence *transaction = forgotten_of(settlement, account);
        if (transaction == NULL)
            continue;
        const struct lease_outcome outcome = outcome_of(transaction);
        hashes[found] = BYTES_OF(transaction->hash.bytes);
        bumps[found] = BYTES_OF(outcome.hash->bytes);
        results[found] = outcome.result;
        values[found] = outcome.return_value;
        texts[found] = account->address;
        codes[found] = transaction->code;
        sequences[found++] = account->evidence->consumed;
    }
    settlement->out->forgotten = found;
    if (found == 0)
        return ERR_OK;
    return db_query(db,
        DB_SQL(sql_forgotten, DB_BYTEAS(hashes, found), DB_TEXTS(texts, found), DB_I64S(sequences, found),
            DB_TEXTS(codes, found), DB_BYTEAS(bumps, found), DB_BYTEAS(results, found),
            DB_BYTEAS(values, found)),
        NULL, detail);
}

/* ---- the accounts */

static const char sql_missing[] =
    "SELECT a.public_key FROM fairway.pool_accounts a"
    " WHERE NOT EXISTS (SELECT FROM unnest($1::text[]) AS n (public_key) WHERE n.public_key = a.public_key)"
    " LIMIT 1";

/* After a gap there must be evidence about every account: one that was stored after the reads may have been
 * created before the new cursor, and no later ledger would show that. */
static enum err check_all_read(const struct settle_evidence *evidence, struct db *db, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    if (!evidence->gap)
        return ERR_OK;
    enum err e = db_query(
        db, DB_SQL(sql_missing, DB_TEXTS(evidence->addresses, evidence->account_count)), &rows, detail);
    if (e == ERR_OK && db_count(rows) > 0)
        e = detail_set(
            detail, ERR_NOT_YET, "account %s was added while accounts were read", db_text(rows, 0, 0));
    return e;
}

static bool follow_gap(struct settlement *settlement, struct settle_account *account)
{
    const struct account_snapshot *read = account->evidence->read;
    bool ours = signed_by_us(settlement, account, read->account.sequence);
    return account_state_after_gap(&account->row, &read->account, read->ledger, ours, settlement->on_hold);
}

static bool follow_ledger(struct settlement *settlement, struct settle_account *account)
{
    const struct account_evidence *evidence = account->evidence;
    const bool on_hold = settlement->on_hold;
    const struct account_news news = {.ledger = settlement->evidence->sequence,
        .on_hold = on_hold,
        .consumed = evidence->consumed,
        .ours = signed_by_us(settlement, account, evidence->consumed),
        .created = evidence->created,
        .merged = evidence->merged,
        .foreign = evidence->acted || (evidence->ended_sponsoring && !on_hold)};
    return account_state_after_ledger(&account->row, &news);
}

static void change_account(struct settlement *settlement, struct settle_account *account)
{
    enum account_state before = account->row.state;
    account->followed = (settlement->evidence->gap ? follow_gap : follow_ledger)(settlement, account);
    bool frozen = account->evidence->frozen && account_state_freeze(&account->row);
    account->changed = account->followed || frozen;
    if (account->row.reason != NULL)
        note(settlement, account->address, account->row.reason);
    if (account->row.state == before)
        return;
    settlement->out->created += before == ACCOUNT_CREATING && account->row.state == ACCOUNT_ACTIVE;
    settlement->out->retired += account->row.state == ACCOUNT_RETIRED;
    settlement->out->quarantined += account->row.state == ACCOUNT_QUARANTINED;
}

static void change_accounts(struct settlement *settlement)
{
    for (size_t i = 0; i < settlement->accounts.count; i++)
        if (settlement->accounts.items[i].evidence != NULL)
            change_account(settlement, &settlement->accounts.items[i]);
}

/* ---- leases that end by sequence number and time */

/*
 * The sequence number up to which the account's are consumed: proved by the ledger, or read after a gap. A
 * read proves that also when the row is newer than it, because accounts release has read the account since. A
 * removal is older than such a row, and counts only if the row took it over.
 */
static int64_t passed(const struct settlement *settlement, const struct settle_account *account)
{
    if (account->evidence == NULL)
        return 0;
    const struct account_snapshot *read = account->evidence->read;
    if (!settlement->evidence->gap)
        return account->evidence->consumed;
    if (read->account.removed)
        return account->followed ? INT64_MAX : 0;
    return read->account.sequence;
}

/* An open lease whose sequence number is consumed can never be included. */
static void end_by_sequence(const struct settlement *settlement, struct settle_account *account)
{
    const int64_t sequence = passed(settlement, account);
    if (account->leased && account->end.result == NULL && sequence != 0 &&
        account->lease.sequence <= sequence)
        account->end = (struct settle_end){.result = settlement->evidence->gap ? "consumed" : "superseded",
            .ledger = settlement->evidence->sequence};
}

/* A max time strictly below the close time is safe for every protocol (CAP-88). Max ledger is exclusive
 * (CAP-21). */
static void end_by_time(const struct settlement *settlement, struct settle_account *account)
{
    const struct settle_evidence *evidence = settlement->evidence;
    const struct settle_lease *lease = &account->lease;
    const bool late = lease->max_time_s < (int64_t)evidence->close_time_s,
               beyond = lease->max_ledger != 0 && lease->max_ledger <= (int64_t)evidence->sequence + 1;
    if (account->leased && account->end.result == NULL && (late || beyond))
        account->end = (struct settle_end){.result = "expired", .ledger = evidence->sequence};
}

/* ---- all steps */

static void count_end(struct settled *out, const char *result)
{
    out->released++;
    out->confirmed += strcmp(result, "confirmed") == 0;
    out->failed += strcmp(result, "failed") == 0;
    out->superseded += strcmp(result, "superseded") == 0;
    out->expired += strcmp(result, "expired") == 0;
    out->consumed += strcmp(result, "consumed") == 0;
}

static void end_leases(struct settlement *settlement)
{
    for (size_t i = 0; i < settlement->accounts.count; i++) {
        struct settle_account *account = &settlement->accounts.items[i];
        end_by_sequence(settlement, account);
        end_by_time(settlement, account);
        if (account->end.result != NULL)
            count_end(settlement->out, account->end.result);
    }
}

/* The accounts change between the ends by hash, whose leases no longer keep them, and the others, which need
 * what became of the accounts. */
static enum err settle(struct db *db, const struct settle_evidence *evidence,
    const struct settle_terms *terms, struct settled *out, struct detail *detail)
{
    struct settlement settlement CLEANUP(settlement_free) = {
        .evidence = evidence, .terms = terms, .out = out};
    *out = (struct settled){0};
    enum err e = settle_read(db, evidence, terms->search, &settlement.accounts, detail);
    if (e == ERR_OK)
        e = check_all_read(evidence, db, detail);
    for (size_t i = 0; e == ERR_OK && i < settlement.accounts.count; i++)
        end_by_hash(&settlement, &settlement.accounts.items[i]);
    if (e == ERR_OK)
        e = read_history(&settlement, db, detail);
    if (e == ERR_OK)
        e = record_forgotten(&settlement, db, detail);
    if (e != ERR_OK)
        return e;
    settlement.on_hold = terms->on_hold || out->forgotten > 0;
    change_accounts(&settlement);
    end_leases(&settlement);
    if (terms->ends != NULL)
        settle_list_ends(&settlement.accounts, evidence, terms->ends);
    return settle_write(db, &settlement.accounts, detail);
}

enum err settle_ledger(struct db *db, const struct ledger *ledger, const struct settle_terms *terms,
    struct settled *out, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) =
        settle_evidence_of_ledger(ledger, terms->provisioning);
    return settle(db, &evidence, terms, out, detail);
}

enum err settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads, bool on_hold,
    struct settle_notes *notes, struct settled *out, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) = settle_evidence_of_gap(ledger, reads);
    const struct settle_terms terms = {.on_hold = on_hold, .notes = notes};
    return settle(db, &evidence, &terms, out, detail);
}
