/* Locks and reads the accounts that a ledger may change. Nothing is decided or written here. */
#include "settle_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadlines.h"
#include "base/mem.h"

void settle_accounts_free(struct settle_accounts *accounts)
{
    free(accounts->items);
    *accounts = (struct settle_accounts){0};
}

static const char sql_lock[] = "SELECT l.public_key, l.state, l.sequence, l.sequence_ledger, l.lease_hash, "
                               "l.lease_sequence, l.lease_max_time,"
                               " l.lease_max_ledger, l.submitted, coalesce(l.reason = '" ACCOUNT_UNREAD_REASON
                               "', false), l.next_max_time,"
                               " l.next_max_ledger FROM fairway.lock_settling($1, $2, $3, $4) l";
enum {
    LOCK_NEXT_MAX_TIME = 10,
    LOCK_NEXT_MAX_LEDGER
};

static const char sql_unread[] = "SELECT a.public_key::text FROM fairway.pool_accounts a"
                                 " WHERE a.quarantine_reason = '" ACCOUNT_UNREAD_REASON "'";

enum err settle_read_unread(struct db *db, struct settle_doubts *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct settle_doubts){0};
    enum err e = db_query(db, DB_SQL0(sql_unread), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    out->keys = NEW_ARRAY(db_count(rows), struct public_key);
    for (size_t row = 0; row < db_count(rows); row++)
        if (address_decode(db_text(rows, row, 0), &out->keys[out->count++]) != ERR_OK)
            return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, row, 0));
    qsort(out->keys, out->count, sizeof out->keys[0], public_key_compare);
    return ERR_OK;
}

static int compare_evidence(const void *a, const void *b)
{
    const struct account_evidence *const *first = a, *const *second = b;
    return strcmp((*first)->address, (*second)->address);
}

static enum err read_lease(
    const struct db_rows *rows, size_t row, struct settle_account *account, struct detail *detail)
{
    const struct bytes hash = db_bytea(rows, row, 4);
    account->leased = hash.data != NULL;
    if (!account->leased)
        return ERR_OK;
    if (hash.len != sizeof account->lease.hash.bytes)
        return detail_set(detail, ERR_INTERNAL, "account %s has a malformed lease", account->address);
    memcpy(account->lease.hash.bytes, hash.data, hash.len);
    account->lease.sequence = db_i64(rows, row, 5);
    account->lease.max_time_s = db_i64(rows, row, 6);
    account->lease.max_ledger = db_i64(rows, row, 7);
    return ERR_OK;
}

static enum err read_account(
    const struct db_rows *rows, size_t row, struct settle_account *account, struct detail *detail)
{
    snprintf(account->address, sizeof account->address, "%s", db_text(rows, row, 0));
    if (account_state_parse(db_text(rows, row, 1), &account->row.state) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "account %s has an unknown state", account->address);
    account->row.known = !db_is_null(rows, row, 2);
    if (account->row.known) {
        account->row.sequence = db_i64(rows, row, 2);
        account->row.sequence_ledger = db_i64(rows, row, 3);
    }
    account->submitted = db_bool(rows, row, 8);
    account->row.unread = db_bool(rows, row, 9);
    return read_lease(rows, row, account, detail);
}

/* Rows and evidence are in the same order, so one pass over both finds the evidence of each row. */
static enum err read_accounts(const struct db_rows *rows, const struct settle_evidence *evidence,
    struct settle_accounts *out, struct detail *detail)
{
    const struct account_evidence **sorted AUTO_FREE =
        NEW_ARRAY(evidence->account_count, const struct account_evidence *);
    size_t next = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < evidence->account_count; i++)
        sorted[i] = &evidence->accounts[i];
    qsort(sorted, evidence->account_count, sizeof sorted[0], compare_evidence);
    out->items = NEW_ARRAY(db_count(rows), struct settle_account);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows) && !db_is_null(rows, row, 0); row++) {
        struct settle_account *account = &out->items[out->count++];
        e = read_account(rows, row, account, detail);
        if (!evidence->gap) /* there, a lease that the reads have passed ends too */
            account->row.lease_sequence = account->lease.sequence;
        while (next < evidence->account_count && strcmp(sorted[next]->address, account->address) < 0)
            next++;
        if (next < evidence->account_count && strcmp(sorted[next]->address, account->address) == 0)
            account->evidence = sorted[next];
    }
    return e;
}

/* Leases that were granted since the search are not in it: so it holds for a short time only. */
static struct settle_search search_after(const struct settle_evidence *evidence, const struct db_rows *rows)
{
    const int64_t max_time_s = db_i64(rows, 0, LOCK_NEXT_MAX_TIME),
                  max_ledger = db_i64(rows, 0, LOCK_NEXT_MAX_LEDGER),
                  again_s = (int64_t)evidence->close_time_s + SETTLE_SEARCH_SECONDS;
    return (struct settle_search){.done = true,
        .until_s = max_time_s != 0 && max_time_s < again_s ? max_time_s : again_s,
        .until_ledger = max_ledger != 0 ? max_ledger - 2 : INT64_MAX};
}

enum err settle_read(struct db *db, const struct settle_evidence *evidence, struct settle_search *search,
    struct settle_accounts *out, struct detail *detail)
{
    const bool due = !search->done || (int64_t)evidence->close_time_s > search->until_s ||
                     (int64_t)evidence->sequence > search->until_ledger;
    AUTO_ROWS rows = NULL;
    *out = (struct settle_accounts){0};
    enum err e = db_query(db,
        DB_SQL(sql_lock, DB_TEXTS(evidence->addresses, evidence->account_count),
            DB_I64((int64_t)evidence->close_time_s), DB_I64((int64_t)evidence->sequence + 1), DB_BOOL(due)),
        &rows, detail);
    if (e == ERR_OK)
        e = read_accounts(rows, evidence, out, detail);
    if (e == ERR_OK && due)
        *search = search_after(evidence, rows);
    return e;
}
