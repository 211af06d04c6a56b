/* Locks and reads the accounts that a ledger may change. Nothing is decided or written here. */
#include "settle_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/policy.h"

void settle_accounts_free(struct settle_accounts *accounts)
{
    free(accounts->items);
    *accounts = (struct settle_accounts){0};
}

/* Also the accounts of leases whose authorization expires with ledger $2: the search may not know of them. It
 * knows those that were granted before $3, whose max time has passed. */
static const char sql_lock[] =
    "SELECT l.public_key, l.state, l.sequence, l.sequence_ledger, l.lease_hash, l.lease_sequence,"
    " l.lease_max_time, l.lease_max_ledger FROM fairway.lock_accounts($1 || ARRAY("
    "  SELECT c.account FROM fairway.lease_claims c CROSS JOIN LATERAL fairway.newest_account(c.account) a"
    "  WHERE c.expires_ledger = $2 AND c.granted_at > to_timestamp($3::int8)"
    "   AND a.lease_hash = c.lease_hash)) l"
    " WHERE l.state <> 'retired'";

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
    account->leased = !db_is_null(rows, row, 4);
    if (account->leased) {
        db_copy(rows, row, 4, account->lease.hash.bytes, sizeof account->lease.hash.bytes);
        account->lease.sequence = db_i64(rows, row, 5);
        account->lease.max_time_s = db_i64(rows, row, 6);
        account->lease.max_ledger = db_i64(rows, row, 7);
    }
    return ERR_OK;
}

/* Rows and evidence are in the same order, so one pass over both finds the evidence of each row. */
static enum err read_accounts(const struct db_rows *rows, const struct settle_evidence *evidence,
    struct settle_accounts *out, struct detail *detail)
{
    const struct account_evidence *next = evidence->accounts, *end = next + evidence->account_count;
    enum err e = ERR_OK;
    out->items = NEW_ARRAY(db_count(rows), struct settle_account);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++) {
        struct settle_account *account = &out->items[out->count++];
        e = read_account(rows, row, account, detail);
        if (!evidence->gap) /* there, a lease that the reads have passed ends too */
            account->row.lease_sequence = account->lease.sequence;
        while (next < end && strcmp(next->address, account->address) < 0)
            next++;
        if (next < end && strcmp(next->address, account->address) == 0)
            account->evidence = next;
    }
    return e;
}

/* Leases that were granted since the search are not in it. */
enum err settle_read(struct db *db, const struct settle_evidence *evidence, struct settle_search *search,
    struct settle_accounts *out, struct detail *detail)
{
    struct settle_search own CLEANUP(settle_search_free) = {0};
    AUTO_ROWS rows = NULL;
    enum err e = ERR_OK;
    *out = (struct settle_accounts){0};
    if (search == NULL)
        search = &own;
    if (evidence->close_time_s > search->until_s)
        e = settle_search(db, evidence->close_time_s, search, detail);
    if (e != ERR_OK)
        return e;
    size_t count = evidence->account_count;
    const char **addresses AUTO_FREE = NEW_ARRAY(count + settle_search_count(search), const char *);
    for (size_t i = 0; i < count; i++)
        addresses[i] = evidence->addresses[i];
    count += settle_search_due(search, evidence->close_time_s, evidence->sequence, addresses + count);
    e = db_query(db,
        DB_SQL(sql_lock, DB_TEXTS(addresses, count), DB_I64(evidence->sequence),
            DB_I64((int64_t)evidence->close_time_s - (int64_t)2 * LEASE_SECONDS_MAX)),
        &rows, detail);
    return e != ERR_OK ? e : read_accounts(rows, evidence, out, detail);
}
