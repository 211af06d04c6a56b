#include "settle_alone.h"

/* As fairway.append_ledger does before a ledger is settled. */
static const char sql_ledger[] =
    "INSERT INTO fairway.ledgers AS l (sequence, hash, protocol, close_time, transaction_count)"
    " VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (sequence) DO UPDATE SET close_time = EXCLUDED.close_time, hash = EXCLUDED.hash";

static const char sql_cursor[] = "UPDATE fairway.cursor SET sequence = $1 WHERE sequence < $1";

enum err settle_alone(struct db *db, const struct ledger *ledger, struct settle_search *search,
    struct settled *out, struct detail *detail)
{
    const struct settle_terms terms = {.search = search};
    enum err e = db_query(db,
        DB_SQL(sql_ledger, DB_I64(ledger->sequence), DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
            DB_I32((int32_t)ledger->protocol), DB_I64((int64_t)ledger->close_time_s),
            DB_I32((int32_t)ledger->transaction_count)),
        NULL, detail);
    if (e == ERR_OK)
        e = db_query(db, DB_SQL(sql_cursor, DB_I64(ledger->sequence)), NULL, detail);
    return e != ERR_OK ? e : settle_ledger(db, ledger, &terms, out, detail);
}
