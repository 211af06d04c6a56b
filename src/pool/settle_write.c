/* Writes what was decided: ends of leases and states of accounts, both in one statement. */
#include "settle_read.h"

#include <stdlib.h>

#include "base/mem.h"
#include "pool/accounts.h"

static const char sql_write[] = "SELECT fairway.settle_accounts($1, $2, $3, $4, $5, $6, $7, $8)";

/* Accounts that one statement writes. 5,000 take about 0.3 s here; one statement for a pool of 100,000
 * accounts whose leases all end with one ledger could take longer than the statement timeout, and would fail
 * for ever. */
#define SETTLE_WRITE_MAX 5000

/* Runs before several parts are written: each would lock the clients of its own leases, in another order. */
static const char sql_lock_clients[] =
    "SELECT fairway.lock_clients(ARRAY(SELECT u.client FROM fairway.client_usage u ORDER BY u.client))";

/* The parameters of sql_write. */
struct columns {
    const char **accounts, **states, **reasons, **results, **codes;
    int64_t *sequences, *sequence_ledgers, *ledgers;
    size_t count;
};

static void columns_free(struct columns *columns)
{
    free(columns->accounts);
    free(columns->states);
    free(columns->reasons);
    free(columns->results);
    free(columns->codes);
    free(columns->sequences);
    free(columns->sequence_ledgers);
    free(columns->ledgers);
}

static struct columns columns_of(const struct settle_accounts *accounts)
{
    const size_t most = accounts->count;
    struct columns columns = {NEW_ARRAY(most, const char *), NEW_ARRAY(most, const char *),
        NEW_ARRAY(most, const char *), NEW_ARRAY(most, const char *), NEW_ARRAY(most, const char *),
        NEW_ARRAY(most, int64_t), NEW_ARRAY(most, int64_t), NEW_ARRAY(most, int64_t), 0};
    for (size_t i = 0; i < accounts->count; i++) {
        const struct settle_account *account = &accounts->items[i];
        if (!account->changed && account->end.result == NULL)
            continue;
        const size_t n = columns.count++;
        columns.accounts[n] = account->address;
        columns.states[n] = account_state_name(account->row.state);
        columns.reasons[n] = account->row.reason;
        columns.sequences[n] = account->row.sequence;
        columns.sequence_ledgers[n] = account->row.sequence_ledger;
        columns.results[n] = account->end.result;
        columns.codes[n] = account->end.code;
        columns.ledgers[n] = account->end.ledger;
    }
    return columns;
}

/* Writes the columns from `from` on; the last part also notifies. */
static enum err write_part(
    struct db *db, const struct columns *columns, size_t from, size_t count, struct detail *detail)
{
    const bool is_last = from + count == columns->count;
    const struct db_statement statements[] = {
        DB_SQL(sql_write, DB_TEXTS(columns->accounts + from, count), DB_TEXTS(columns->states + from, count),
            DB_I64S(columns->sequences + from, count), DB_I64S(columns->sequence_ledgers + from, count),
            DB_TEXTS(columns->reasons + from, count), DB_TEXTS(columns->results + from, count),
            DB_TEXTS(columns->codes + from, count), DB_I64S(columns->ledgers + from, count)),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    return db_run(db, statements, is_last ? 2 : 1, NULL, detail);
}

enum err settle_write(struct db *db, const struct settle_accounts *accounts, struct detail *detail)
{
    struct columns columns CLEANUP(columns_free) = columns_of(accounts);
    enum err e = ERR_OK;
    if (columns.count > SETTLE_WRITE_MAX)
        e = db_query(db, DB_SQL0(sql_lock_clients), NULL, detail);
    for (size_t from = 0; e == ERR_OK && from < columns.count; from += SETTLE_WRITE_MAX) {
        const size_t left = columns.count - from;
        e = write_part(db, &columns, from, left < SETTLE_WRITE_MAX ? left : SETTLE_WRITE_MAX, detail);
    }
    return e;
}
