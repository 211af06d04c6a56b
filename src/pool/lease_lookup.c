/* Finds leases by their hashes or those of their fee bumps. A client never sees another one's lease. */
#include "pool/lease_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The ordinal says to which hash a row belongs. */
static const char sql_lookup[] =
    "SELECT l.ordinal - 1, l.hash, l.account, l.sequence, l.max_time, coalesce(l.result, 'pending'),"
    " coalesce(l.result_code, ''), coalesce(l.ledger, 0), coalesce(g.close_time, 0), l.client"
    " FROM fairway.find_leases($1) l LEFT JOIN fairway.ledgers g ON g.sequence = l.ledger";

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

/* Lookups of one hash are neighbours in this order. */
static int by_hash(const void *a, const void *b)
{
    const struct lease_lookup *const *one = a, *const *other = b;
    return memcmp(&(*one)->hash, &(*other)->hash, sizeof(*one)->hash);
}

/* Hands a row, which is of the first lookup's hash, to every lookup of this hash whose client has the lease.
 */
static void hand_out(
    struct lease_lookup *const lookups[], size_t count, const struct db_rows *rows, size_t row)
{
    const struct lease_status status = read_status(rows, row);
    for (size_t i = 0; i < count && hash_equal(&lookups[i]->hash, &lookups[0]->hash); i++) {
        if (strcmp(lookups[i]->client, db_text(rows, row, 9)) != 0)
            continue;
        lookups[i]->found = true;
        lookups[i]->status = status;
    }
}

enum err lease_lookup(struct db *db, struct lease_lookup lookups[], size_t count, struct detail *detail)
{
    struct lease_lookup **sorted AUTO_FREE = NEW_ARRAY(count, struct lease_lookup *);
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes);
    size_t *firsts AUTO_FREE = NEW_ARRAY(count, size_t); /* in sorted, of each hash */
    size_t different = 0;
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &lookups[i];
        lookups[i].found = false;
    }
    qsort(sorted, count, sizeof(struct lease_lookup *), by_hash);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !hash_equal(&sorted[i]->hash, &sorted[i - 1]->hash)) {
            hashes[different] = BYTES_OF(sorted[i]->hash.bytes);
            firsts[different++] = i;
        }
    enum err e = db_query(db, DB_SQL(sql_lookup, DB_BYTEAS(hashes, different)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++) {
        const size_t first = firsts[db_i64(rows, row, 0)];
        hand_out(&sorted[first], count - first, rows, row);
    }
    return e;
}
