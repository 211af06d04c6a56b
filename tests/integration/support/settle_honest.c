#include "settle_honest.h"

#include "base/mem.h"

/* As fairway.append_ledger does before a ledger is settled. */
static const char sql_ledger[] =
    "INSERT INTO fairway.ledgers AS l (sequence, hash, previous_hash, protocol, close_time, "
    "transaction_count,"
    " settled_count) VALUES ($1, $2, $3, $4, $5, $6, 0)"
    " ON CONFLICT (sequence) DO UPDATE SET close_time = EXCLUDED.close_time, hash = EXCLUDED.hash";

enum err settle_honest(struct db *db, const struct ledger *ledger, struct settled *out, struct detail *detail)
{
    struct account_snapshot *accounts AUTO_FREE = NEW_ARRAY(ledger->account_count, struct account_snapshot);
    struct settle_doubts doubts CLEANUP(settle_doubts_free) = {0};
    for (size_t i = 0; i < ledger->account_count; i++)
        accounts[i] = (struct account_snapshot){ledger->accounts[i], ledger->sequence};
    const struct settle_reads reads = {.accounts = accounts,
        .account_count = ledger->account_count,
        .frozen_read = true,
        .frozen = ledger->frozen};
    const struct settle_terms terms = {.reads = &reads, .search = out->search};
    enum err e = db_query(db,
        DB_SQL(sql_ledger, DB_I64(ledger->sequence), DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
            DB_BYTEA(BYTES_OF(ledger->previous_hash.bytes)), DB_I32((int32_t)ledger->protocol),
            DB_I64((int64_t)ledger->close_time_s), DB_I32((int32_t)ledger->transaction_count)),
        NULL, detail);
    if (e != ERR_OK)
        return e;
    return settle_ledger(db, ledger, &terms, out, &doubts, detail);
}
