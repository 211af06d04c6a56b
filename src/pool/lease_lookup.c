#include "pool/lease_lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* The ordinal says to which lookup a row belongs. */
static const char sql_lookup[] =
    "SELECT l.ordinal - 1, l.hash, l.account, l.sequence, l.max_time, coalesce(l.result, 'pending'),"
    " coalesce(l.result_code, ''), coalesce(l.ledger, 0), coalesce(g.close_time, 0)"
    " FROM fairway.find_leases($1) l LEFT JOIN fairway.ledgers g ON g.sequence = l.ledger"
    " WHERE l.client = ($2::text[])[l.ordinal]";

static struct lease_status read_status(const struct db_rows *rows, size_t row)
{
    struct lease_status status = {.sequence = db_i64(rows, row, 3),
        .max_time_s = db_i64(rows, row, 4),
        .ledger = db_i64(rows, row, 7),
        .closed_at_s = db_i64(rows, row, 8)};
    memcpy(status.hash.bytes, db_bytea(rows, row, 1).data, sizeof status.hash.bytes);
    snprintf(status.account, sizeof status.account, "%s", db_text(rows, row, 2));
    snprintf(status.status, sizeof status.status, "%s", db_text(rows, row, 5));
    snprintf(status.result_code, sizeof status.result_code, "%s", db_text(rows, row, 6));
    return status;
}

enum err lease_lookup(struct db *db, struct lease_lookup lookups[], size_t count, struct detail *detail)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes);
    const char **clients AUTO_FREE = NEW_ARRAY(count, const char *);
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = BYTES_OF(lookups[i].hash.bytes);
        clients[i] = lookups[i].client;
        lookups[i].found = false;
    }
    enum err e =
        db_query(db, DB_SQL(sql_lookup, DB_BYTEAS(hashes, count), DB_TEXTS(clients, count)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++) {
        struct lease_lookup *lookup = &lookups[db_i64(rows, row, 0)];
        lookup->found = true;
        lookup->status = read_status(rows, row);
    }
    return e;
}
