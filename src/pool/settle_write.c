#include "settle_write.h"

#include <stdlib.h>

#include "base/mem.h"
#include "pool/accounts.h"

/* The results and the accounts in one statement, because the checks of both tables see both. The accounts are
 * locked, so their places (ctid) do not change before the update. sequence_ledger 0: the sequence number is
 * still unknown. */
static const char sql_write[] =
    "WITH news AS MATERIALIZED (SELECT n.*, b.ctid AS place, b.lease_hash, b.locked_at"
    "   FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::text[], $7::text[],"
    "   $8::int8[]) AS n (public_key, state, sequence, sequence_ledger, reason, result, result_code, ledger)"
    "   CROSS JOIN LATERAL (SELECT c.ctid, c.lease_hash, c.locked_at FROM fairway.channel_accounts c"
    "     WHERE c.public_key BETWEEN n.public_key AND n.public_key ORDER BY c.public_key DESC LIMIT 1) b),"
    " ended AS (INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger)"
    "   SELECT n.lease_hash, n.locked_at, n.result, n.result_code, n.ledger FROM news n"
    "   WHERE n.result IS NOT NULL)"
    " UPDATE fairway.channel_accounts a SET state = n.state,"
    " sequence = CASE n.sequence_ledger WHEN 0 THEN NULL ELSE n.sequence END,"
    " sequence_ledger = nullif(n.sequence_ledger, 0),"
    " slot = CASE n.state WHEN 'retired' THEN NULL ELSE a.slot END,"
    " quarantine_reason = CASE n.state WHEN 'quarantined' THEN coalesce(n.reason, a.quarantine_reason) END,"
    " lease_hash = CASE WHEN n.result IS NULL THEN a.lease_hash END,"
    " lease_client = CASE WHEN n.result IS NULL THEN a.lease_client END,"
    " lease_sequence = CASE WHEN n.result IS NULL THEN a.lease_sequence END,"
    " lease_max_time = CASE WHEN n.result IS NULL THEN a.lease_max_time END,"
    " lease_max_ledger = CASE WHEN n.result IS NULL THEN a.lease_max_ledger END,"
    " locked_at = CASE WHEN n.result IS NULL THEN a.locked_at END,"
    " locked_until = CASE WHEN n.result IS NULL THEN a.locked_until END"
    " FROM news n WHERE a.ctid = n.place";

/* Accounts that one statement writes. 5,000 take about 0.3 s here; one statement for a pool of 100,000
 * accounts whose leases all end with one ledger could take longer than the statement timeout, and would fail
 * for ever. */
#define SETTLE_WRITE_MAX 5000

/* Runs before several parts are written: each would lock the clients of its own leases, in another order. */
static const char sql_lock_clients[] =
    "SELECT fairway.lock_usage(ARRAY(SELECT u.client FROM fairway.client_usage u))";

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
