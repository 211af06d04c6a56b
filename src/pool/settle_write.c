/* Writes what was decided: ends of leases and states of accounts, both in one statement. */
#include "settle_read.h"

#include "base/mem.h"
#include "pool/accounts.h"
#include "stellar/result.h"

static const char sql_write[] =
    "SELECT fairway.settle_accounts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/* Accounts that one statement writes. 5,000 take about 0.3 s here; one statement for a pool of 100,000
 * accounts whose leases all end with one ledger could take longer than the statement timeout, and would fail
 * for ever. */
#define SETTLE_WRITE_MAX 5000

/* Runs before several parts are written: each would lock the clients of its own leases, in another order. Who
 * locks a row by contract has locked its client's. */
static const char sql_lock_clients[] =
    "SELECT fairway.lock_clients(ARRAY(SELECT u.client FROM fairway.client_usage u"
    " WHERE u.client NOT LIKE fairway.contract_row('%', '%') ORDER BY u.client)),"
    " fairway.lock_fees(ARRAY(SELECT f.client FROM fairway.client_fees f ORDER BY f.client))";

/* The parameters of sql_write. */
struct columns {
    const char *accounts[SETTLE_WRITE_MAX], *states[SETTLE_WRITE_MAX], *reasons[SETTLE_WRITE_MAX];
    const char *results[SETTLE_WRITE_MAX], *codes[SETTLE_WRITE_MAX];
    struct bytes hashes[SETTLE_WRITE_MAX], result_xdrs[SETTLE_WRITE_MAX], return_values[SETTLE_WRITE_MAX];
    int64_t sequences[SETTLE_WRITE_MAX], sequence_ledgers[SETTLE_WRITE_MAX], ledgers[SETTLE_WRITE_MAX],
        fees[SETTLE_WRITE_MAX];
    size_t count;
};

static bool is_written(const struct settle_account *account)
{
    return account->changed || account->end.result != NULL;
}

static void columns_add(struct columns *columns, const struct settle_account *account)
{
    const struct lease_outcome *outcome = &account->end.outcome;
    const size_t n = columns->count++;
    columns->accounts[n] = account->address;
    columns->states[n] = account_state_name(account->row.state);
    columns->reasons[n] = account->row.reason;
    columns->sequences[n] = account->row.sequence;
    columns->sequence_ledgers[n] = account->row.sequence_ledger;
    columns->results[n] = account->end.result;
    columns->codes[n] = account->end.code;
    columns->ledgers[n] = account->end.ledger;
    columns->hashes[n] = outcome->hash == NULL ? (struct bytes){0} : BYTES_OF(outcome->hash->bytes);
    columns->fees[n] = result_fee_charged(outcome->result);
    columns->result_xdrs[n] = outcome->result;
    columns->return_values[n] = outcome->return_value;
}

void settle_list_ends(
    const struct settle_accounts *accounts, const struct settle_evidence *evidence, struct lease_ends *out)
{
    *out = (struct lease_ends){.items = NEW_ARRAY(accounts->count, struct lease_end),
        .ledger = evidence->sequence,
        .closed_at_s = (int64_t)evidence->close_time_s};
    for (size_t i = 0; i < accounts->count; i++) {
        const struct settle_account *account = &accounts->items[i];
        if (account->end.result != NULL)
            out->items[out->count++] = (struct lease_end){
                account->lease.hash, account->end.result, account->end.code, account->end.outcome};
    }
    lease_ends_sort(out);
}

/* The last part also notifies. */
static enum err write_part(struct db *db, struct columns *columns, bool is_last, struct detail *detail)
{
    const size_t count = columns->count;
    const struct db_statement statements[] = {
        DB_SQL(sql_write, DB_TEXTS(columns->accounts, count), DB_TEXTS(columns->states, count),
            DB_I64S(columns->sequences, count), DB_I64S(columns->sequence_ledgers, count),
            DB_TEXTS(columns->reasons, count), DB_TEXTS(columns->results, count),
            DB_TEXTS(columns->codes, count), DB_I64S(columns->ledgers, count),
            DB_BYTEAS(columns->hashes, count), DB_I64S(columns->fees, count),
            DB_BYTEAS(columns->result_xdrs, count), DB_BYTEAS(columns->return_values, count)),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    columns->count = 0;
    return db_run(db, statements, is_last ? 2 : 1, NULL, detail);
}

enum err settle_write(struct db *db, const struct settle_accounts *accounts, struct detail *detail)
{
    struct columns *columns AUTO_FREE = NEW(struct columns);
    size_t left = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < accounts->count; i++)
        left += is_written(&accounts->items[i]);
    if (left > SETTLE_WRITE_MAX)
        e = db_query(db, DB_SQL0(sql_lock_clients), NULL, detail);
    for (size_t i = 0; e == ERR_OK && left > 0; i++) {
        if (!is_written(&accounts->items[i]))
            continue;
        columns_add(columns, &accounts->items[i]);
        left--;
        if (left == 0 || columns->count == SETTLE_WRITE_MAX)
            e = write_part(db, columns, left == 0, detail);
    }
    return e;
}
