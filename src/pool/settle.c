/* Decides which leases a ledger ends and how, without the database. No lease ends by a clock. */
#include "pool/settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "settle_read.h"

struct settlement {
    const struct settle_evidence *evidence;
    const struct settle_terms *terms;
    struct settle_doubts *doubts;
    struct settled *out;
    struct settle_accounts accounts;
    const struct bytes **hashes; /* those of the evidence, sorted */
    struct db_rows *history;     /* account and sequence number of leases, sorted by account; may be NULL */
};

static void settlement_free(struct settlement *settlement)
{
    settle_accounts_free(&settlement->accounts);
    free(settlement->hashes);
    db_rows_free(settlement->history);
}

/* ---- what to log */

void settle_notes_free(struct settle_notes *notes)
{
    free(notes->items);
    *notes = (struct settle_notes){0};
}

static void note(
    const struct settlement *settlement, enum settle_event event, const char *address, const char *reason)
{
    struct settle_notes *notes = settlement->terms->notes;
    if (notes == NULL)
        return;
    if (notes->items == NULL) /* an account has at most two: refuted, then frozen */
        notes->items = NEW_ARRAY(2 * settlement->accounts.count, struct settle_note);
    struct settle_note *added = &notes->items[notes->count++];
    *added = (struct settle_note){.event = event, .reason = reason};
    snprintf(added->address, sizeof added->address, "%s", address);
}

/* ---- leases that end by their hash */

static int compare_hashes(const void *a, const void *b)
{
    const struct bytes *const *first = a, *const *second = b;
    return memcmp((*first)->data, (*second)->data, (*first)->len);
}

static void sort_hashes(struct settlement *settlement)
{
    const struct settle_evidence *evidence = settlement->evidence;
    settlement->hashes = NEW_ARRAY(evidence->count, const struct bytes *);
    for (size_t i = 0; i < evidence->count; i++)
        settlement->hashes[i] = &evidence->hashes[i];
    qsort(settlement->hashes, evidence->count, sizeof settlement->hashes[0], compare_hashes);
}

static void end_by_hash(const struct settlement *settlement, struct settle_account *account)
{
    const struct settle_evidence *evidence = settlement->evidence;
    const struct bytes hash = BYTES_OF(account->lease.hash.bytes), *key = &hash;
    const struct bytes **found = evidence->count == 0 ? NULL
                                                      : bsearch(&key, settlement->hashes, evidence->count,
                                                            sizeof settlement->hashes[0], compare_hashes);
    if (!account->leased || found == NULL)
        return;
    const size_t i = (size_t)(*found - evidence->hashes);
    account->end =
        (struct settle_end){.result = strcmp(evidence->codes[i], "txSUCCESS") == 0 ? "confirmed" : "failed",
            .code = evidence->codes[i],
            .ledger = evidence->ledgers[i]};
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
 * one transaction of a source, so an account is in the rows at most once. */
static bool consumed_by_ended_lease(const struct db_rows *rows, const char *address, int64_t sequence)
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

static bool signed_by_us(
    const struct settlement *settlement, const struct settle_account *account, int64_t sequence)
{
    return consumed_by_lease(settlement, account, sequence) ||
           (settlement->history != NULL &&
               consumed_by_ended_lease(settlement->history, account->address, sequence));
}

static const char sql_signed[] = "SELECT l.account, l.sequence FROM fairway.find_leases($1) l"
                                 " ORDER BY l.account COLLATE \"C\"";

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
        for (size_t t = 0; t < evidence->count; t++)
            if (strcmp(evidence->sources[t], account->address) == 0)
                hashes[count++] = evidence->hashes[t];
    }
    return count;
}

/* Reads which of these transactions fairway signed, with leases that have ended. That is rare. */
static enum err read_history(struct settlement *settlement, struct db *db, struct detail *detail)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(settlement->evidence->count, struct bytes);
    const size_t count = unexplained(settlement, hashes);
    if (count == 0 || settlement->evidence->gap)
        return ERR_OK;
    return db_query(db, DB_SQL(sql_signed, DB_BYTEAS(hashes, count)), &settlement->history, detail);
}

/* ---- the accounts */

static const char sql_unread[] =
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
        db, DB_SQL(sql_unread, DB_TEXTS(evidence->addresses, evidence->account_count)), &rows, detail);
    if (e == ERR_OK && db_count(rows) > 0)
        e = detail_set(
            detail, ERR_NOT_YET, "account %s was added while accounts were read", db_text(rows, 0, 0));
    return e;
}

static bool follow_gap(struct settlement *settlement, struct settle_account *account)
{
    const struct account_snapshot *read = account->evidence->read;
    bool ours = signed_by_us(settlement, account, read->account.sequence);
    return account_state_after_gap(
        &account->row, &read->account, read->ledger, ours, settlement->terms->on_hold);
}

static void doubt(struct settlement *settlement, const struct public_key *key)
{
    struct settle_doubts *doubts = settlement->doubts;
    if (doubts->keys == NULL)
        doubts->keys = NEW_ARRAY(settlement->accounts.count, struct public_key);
    doubts->keys[doubts->count++] = *key;
}

static bool given_up(const struct settlement *settlement)
{
    const struct settle_reads *reads = settlement->terms->reads;
    return reads != NULL && reads->given_up;
}

static bool is_changed(const struct account_row *before, const struct account_row *after)
{
    return before->state != after->state || before->sequence != after->sequence ||
           before->sequence_ledger != after->sequence_ledger || after->reason != NULL;
}

static bool follow_ledger(struct settlement *settlement, struct settle_account *account)
{
    const struct account_evidence *evidence = account->evidence;
    struct account_news news = {.ledger = settlement->evidence->sequence,
        .on_hold = settlement->terms->on_hold,
        .consumed = evidence->consumed,
        .ours = signed_by_us(settlement, account, evidence->consumed),
        .submitted = settlement->terms->submitted && account->submitted,
        .seen = evidence->seen,
        .reread = evidence->reread};
    if (evidence->read != NULL) {
        news.read = &evidence->read->account;
        news.read_ledger = evidence->read->ledger;
    }
    const struct account_row before = account->row;
    enum account_verdict verdict = account_state_after_ledger(&account->row, &news);
    if (verdict == ACCOUNT_DOUBTFUL && given_up(settlement))
        account_state_unread(&account->row);
    else if (verdict == ACCOUNT_DOUBTFUL)
        doubt(settlement, &evidence->key);
    else if (verdict == ACCOUNT_REFUTED)
        note(settlement, SETTLE_REFUTED, evidence->address, NULL);
    return is_changed(&before, &account->row);
}

/* The list of frozen keys is part of the metadata too. Returns whether the row changed. */
static bool follow_frozen(struct settlement *settlement, struct settle_account *account)
{
    const struct settle_evidence *all = settlement->evidence;
    const struct account_evidence *evidence = account->evidence;
    const struct settle_reads *reads = settlement->terms->reads;
    if (all->gap)
        return evidence->frozen && account_state_freeze(&account->row);
    if (!evidence->frozen && !(evidence->reread && all->protocol >= FROZEN_SINCE_PROTOCOL))
        return false;
    if (given_up(settlement))
        return account_state_unread(&account->row);
    if (reads != NULL && reads->frozen_read)
        return frozen_has(&reads->frozen, &evidence->key) && account_state_freeze(&account->row);
    settlement->doubts->frozen = true;
    return false;
}

static void change_account(struct settlement *settlement, struct settle_account *account)
{
    enum account_state before = account->row.state;
    account->followed = (settlement->evidence->gap ? follow_gap : follow_ledger)(settlement, account);
    bool frozen = follow_frozen(settlement, account);
    account->changed = account->followed || frozen;
    if (account->row.reason != NULL)
        note(settlement, SETTLE_QUARANTINED, account->address, account->row.reason);
    if (account->row.state == before)
        return;
    if (before == ACCOUNT_QUARANTINED && account->row.state == ACCOUNT_ACTIVE)
        note(settlement, SETTLE_READ_AGAIN, account->address, NULL);
    settlement->out->created += before == ACCOUNT_CREATING && account->row.state == ACCOUNT_ACTIVE;
    settlement->out->retired += account->row.state == ACCOUNT_RETIRED;
    settlement->out->quarantined += account->row.state == ACCOUNT_QUARANTINED;
}

static enum err change_accounts(struct settlement *settlement, struct detail *detail)
{
    struct settle_doubts *doubts = settlement->doubts;
    for (size_t i = 0; i < settlement->accounts.count; i++) {
        struct settle_account *account = &settlement->accounts.items[i];
        if (account->evidence != NULL)
            change_account(settlement, account);
        settlement->out->unread += account->row.unread;
    }
    if (doubts->count > 0) /* the rows came in the order of addresses */
        qsort(doubts->keys, doubts->count, sizeof doubts->keys[0], public_key_compare);
    if (doubts->count > 0 || doubts->frozen)
        return detail_set(detail, ERR_NOT_YET, "accounts have to be read before ledger %u is committed",
            settlement->evidence->sequence);
    return ERR_OK;
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

static enum err settle(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct settle_evidence *evidence = settlement->evidence;
    sort_hashes(settlement);
    settlement->out->search = settlement->terms->search;
    enum err e = settle_read(db, evidence, &settlement->out->search, &settlement->accounts, detail);
    if (e == ERR_OK)
        e = check_all_read(evidence, db, detail);
    for (size_t i = 0; e == ERR_OK && i < settlement->accounts.count; i++)
        end_by_hash(settlement, &settlement->accounts.items[i]);
    if (e == ERR_OK)
        e = read_history(settlement, db, detail);
    if (e == ERR_OK)
        e = change_accounts(settlement, detail);
    if (e != ERR_OK)
        return e;
    end_leases(settlement);
    return settle_write(db, &settlement->accounts, detail);
}

enum err settle_ledger(struct db *db, const struct ledger *ledger, const struct settle_terms *terms,
    struct settled *out, struct settle_doubts *doubts, struct detail *detail)
{
    struct settle_doubts unread CLEANUP(settle_doubts_free) = {0};
    *out = (struct settled){0};
    *doubts = (struct settle_doubts){0};
    enum err e = terms->rereads ? settle_read_unread(db, &unread, detail) : ERR_OK;
    if (e != ERR_OK)
        return e;
    struct settle_evidence evidence CLEANUP(settle_evidence_free) =
        settle_evidence_of_ledger(ledger, terms->reads, &unread);
    struct settlement settlement CLEANUP(settlement_free) = {
        .evidence = &evidence, .terms = terms, .out = out, .doubts = doubts};
    return settle(&settlement, db, detail);
}

enum err settle_gap(struct db *db, const struct ledger *ledger, const struct gap_reads *reads, bool on_hold,
    struct settle_notes *notes, struct settled *out, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) = settle_evidence_of_gap(ledger, reads);
    const struct settle_terms terms = {.on_hold = on_hold, .notes = notes};
    struct settle_doubts none = {0}; /* everything was read */
    *out = (struct settled){0};
    struct settlement settlement CLEANUP(settlement_free) = {
        .evidence = &evidence, .terms = &terms, .out = out, .doubts = &none};
    return settle(&settlement, db, detail);
}
