/* Searches the pool for leases that may expire soon, so that no ledger has to. Nothing is decided here: a
 * ledger locks the accounts and reads them again. */
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "settle_read.h"
#include "stellar/policy.h"

_Static_assert(SETTLE_SEARCH_SECONDS < LEASE_SECONDS_MIN, "the next search comes before this one ends");

void settle_search_free(struct settle_search *search)
{
    db_rows_free(search->leases);
    *search = (struct settle_search){0};
}

/* No index serves it: each grant would have to write that index. While ledgers are caught up with, their
 * close times are old, and one search is enough for all of them: leases are granted by the database's clock.
 * If no lease is found, there is one row without one. */
static const char sql_search[] =
    "SELECT t.until, l.public_key::text, l.lease_max_time, coalesce(l.lease_max_ledger, 0)"
    " FROM (SELECT greatest($1, floor(extract(epoch FROM clock_timestamp()))::int8) + $2 AS until) t"
    " LEFT JOIN fairway.pool_accounts l ON l.lease_max_time < t.until OR l.lease_max_ledger IS NOT NULL";

enum err settle_search(
    struct db *db, uint64_t close_time_s, struct settle_search *search, struct detail *detail)
{
    struct db_rows *rows = NULL;
    enum err e = db_query(
        db, DB_SQL(sql_search, DB_I64((int64_t)close_time_s), DB_I64(LEASE_SECONDS_MIN)), &rows, detail);
    settle_search_free(search);
    if (e == ERR_OK)
        *search = (struct settle_search){
            .leases = rows, .until_s = (uint64_t)db_i64(rows, 0, 0), .searched_ms = clock_ms()};
    return e;
}

void settle_search_ahead(struct db *db, const struct ledger *ledger, struct settle_search *search)
{
    struct detail detail = {0};
    search->ended_s = ledger->close_time_s;
    search->ended_ledger = ledger->sequence;
    const bool due = ledger->close_time_s + SETTLE_SEARCH_SECONDS > search->until_s ||
                     clock_ms() - search->searched_ms >= (int64_t)SETTLE_SEARCH_SECONDS * 1000;
    if (due && settle_search(db, ledger->close_time_s, search, &detail) != ERR_OK)
        log_debug("the pool was not searched for leases that expire; the next ledger searches it",
            "detail=\"%s\"", detail.text);
}

/* Whether a ledger lets the lease expire: as end_by_time of pool/settle.c decides. */
static bool expires(const struct db_rows *rows, size_t row, uint64_t close_time_s, uint32_t ledger)
{
    return db_i64(rows, row, 2) < (int64_t)close_time_s ||
           (db_i64(rows, row, 3) != 0 && db_i64(rows, row, 3) <= (int64_t)ledger + 1);
}

size_t settle_search_count(const struct settle_search *search)
{
    return search->leases == NULL ? 0 : db_count_at_most(search->leases, DB_ANY_COUNT);
}

size_t settle_search_due(
    const struct settle_search *search, uint64_t close_time_s, uint32_t ledger, const char *addresses[])
{
    const struct db_rows *rows = search->leases;
    size_t count = 0;
    for (size_t row = 0; row < settle_search_count(search) && !db_is_null(rows, row, 1); row++)
        if (expires(rows, row, close_time_s, ledger) &&
            !(search->ended_ledger != 0 && expires(rows, row, search->ended_s, search->ended_ledger)))
            addresses[count++] = db_text(rows, row, 1);
    return count;
}
