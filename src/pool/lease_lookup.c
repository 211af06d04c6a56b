/* Finds leases by their hashes or those of their fee bumps. A client never sees another one's lease. */
#include "pool/lease_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Reads the leases whose hashes and times of grant are the rows of `found`; the ordinal says to which hash a
 * row belongs. bids: of the highest fee bumps the hash and the fee. */
#define STATUS(found)                                                                                        \
    "SELECT n.ordinal, l.hash, l.account, l.sequence, l.max_time, coalesce(r.result, 'pending'),"            \
    " coalesce(r.result_code, ''), coalesce(r.ledger, 0), coalesce(g.close_time, 0), l.client,"              \
    " (extract(epoch FROM l.granted_at) * 1000000)::int8, l.reference, r.ledger_hash, r.result_xdr,"         \
    " r.return_value, b.bids, coalesce(r.ended_ledger << 31 | r.place, 0),"                                  \
    " (SELECT s.rejected FROM fairway.submissions s WHERE s.lease_hash = n.hash),"                           \
    " CASE WHEN n.wants <> 0 AND r.result IS NULL THEN l.envelope END"                                       \
    " FROM (" found " OFFSET 0) n"                                                                           \
    " CROSS JOIN LATERAL (SELECT * FROM fairway.leases i"                                                    \
    "   WHERE fairway.hour_key(i.granted_at, i.hash) = fairway.hour_key(n.granted_at, n.hash)"               \
    "     AND i.hash = n.hash AND i.granted_at = n.granted_at LIMIT 1) l"                                    \
    " LEFT JOIN LATERAL (SELECT * FROM fairway.lease_results i"                                              \
    "   WHERE i.hash = n.hash AND i.granted_at = n.granted_at LIMIT 1) r ON true"                            \
    " LEFT JOIN LATERAL (SELECT i.close_time FROM fairway.ledgers i WHERE i.sequence = r.ledger LIMIT 1) g"  \
    "   ON true"                                                                                             \
    " CROSS JOIN LATERAL (SELECT string_agg(s.hash || int8send(s.fee), '') AS bids FROM ("                   \
    "   SELECT f.hash, f.fee FROM fairway.fee_bumps f WHERE f.granted_at = n.granted_at"                     \
    "     AND f.lease_hash = n.hash AND r.result IS NULL ORDER BY f.fee DESC LIMIT 10) s) b"

void lease_status_free(struct lease_status *status)
{
    free(status->reference);
    free(status->bids);
    buf_free(&status->envelope);
    buf_free(&status->rejected);
    buf_free(&status->result);
    buf_free(&status->return_value);
    *status = (struct lease_status){0};
}

static void read_bids(struct bytes rows, struct lease_status *status)
{
    const size_t size = sizeof(struct hash) + sizeof(int64_t);
    status->bid_count = rows.len / size;
    if (status->bid_count > 0)
        status->bids = NEW_ARRAY(status->bid_count, struct lease_bid);
    for (size_t i = 0; i < status->bid_count; i++) {
        const uint8_t *row = rows.data + i * size;
        memcpy(status->bids[i].hash.bytes, row, sizeof(struct hash));
        status->bids[i].fee_stroops = (int64_t)be64_get(row + sizeof(struct hash));
    }
}

static void set_outcome(
    struct lease_status *status, const uint8_t *ledger_hash, struct bytes result, struct bytes return_value)
{
    status->has_ledger_hash = ledger_hash != NULL;
    if (ledger_hash != NULL)
        memcpy(status->ledger_hash.bytes, ledger_hash, sizeof status->ledger_hash.bytes);
    buf_add_bytes(&status->result, result);
    buf_add_bytes(&status->return_value, return_value);
}

static struct lease_status read_status(const struct db_rows *rows, size_t row)
{
    struct lease_status status = {.sequence = db_i64(rows, row, 3),
        .max_time_s = db_i64(rows, row, 4),
        .ledger = db_i64(rows, row, 7),
        .closed_at_s = db_i64(rows, row, 8),
        .granted_us = db_i64(rows, row, 10),
        .ended = db_i64(rows, row, 16)};
    db_copy(rows, row, 1, status.hash.bytes, sizeof status.hash.bytes);
    snprintf(status.account, sizeof status.account, "%s", db_text(rows, row, 2));
    snprintf(status.status, sizeof status.status, "%s", db_text(rows, row, 5));
    snprintf(status.result_code, sizeof status.result_code, "%s", db_text(rows, row, 6));
    if (!db_is_null(rows, row, 11))
        status.reference = mem_format("%s", db_text(rows, row, 11));
    struct hash ledger;
    const bool in_ledger = !db_is_null(rows, row, 12);
    if (in_ledger)
        db_copy(rows, row, 12, ledger.bytes, sizeof ledger.bytes);
    set_outcome(&status, in_ledger ? ledger.bytes : NULL, db_bytea(rows, row, 13), db_bytea(rows, row, 14));
    read_bids(db_bytea(rows, row, 15), &status);
    buf_add_bytes(&status.rejected, db_bytea(rows, row, 17));
    buf_add_bytes(&status.envelope, db_bytea(rows, row, 18));
    return status;
}

void lease_status_end(struct lease_status *status, const struct lease_ends *ends, const struct lease_end *end)
{
    const struct lease_outcome *outcome = &end->outcome;
    snprintf(status->status, sizeof status->status, "%s", end->result);
    snprintf(status->result_code, sizeof status->result_code, "%s", end->code == NULL ? "" : end->code);
    status->ledger = ends->ledger;
    status->closed_at_s = ends->closed_at_s;
    status->bid_count = 0;
    buf_free(&status->envelope);
    set_outcome(
        status, outcome->hash == NULL ? NULL : outcome->hash->bytes, outcome->result, outcome->return_value);
}

static const char sql_lookup[] = STATUS(
    "SELECT u.ordinal, w.lease_hash AS hash, w.granted_at, u.wants"
    " FROM fairway.find_grants(ARRAY(SELECT DISTINCT i.hash FROM unnest($1::bytea[], $2::int8[]) i (hash, us)"
    "   WHERE i.us = 0)) w"
    " JOIN unnest($1, $2, $3::int8[]) WITH ORDINALITY u (hash, us, wants, ordinal)"
    "   ON u.hash = w.hash AND u.us = 0"
    " UNION ALL SELECT u.ordinal, u.hash, 'epoch'::timestamptz + u.us * interval '1 us', u.wants"
    " FROM unnest($1, $2, $3) WITH ORDINALITY u (hash, us, wants, ordinal) WHERE u.us <> 0");

enum err lease_lookup(struct db *db, struct lease_lookup lookups[], size_t count, struct detail *detail)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes);
    int64_t *granted_us AUTO_FREE = NEW_ARRAY(count, int64_t), *wants AUTO_FREE = NEW_ARRAY(count, int64_t);
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        granted_us[i] = lookups[i].status.granted_us;
        hashes[i] = BYTES_OF((granted_us[i] != 0 ? &lookups[i].status.hash : &lookups[i].hash)->bytes);
        lookups[i].found = false;
        wants[i] = lookups[i].wants_envelope;
    }
    enum err e = db_query(db,
        DB_SQL(sql_lookup, DB_BYTEAS(hashes, count), DB_I64S(granted_us, count), DB_I64S(wants, count)),
        &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, DB_ANY_COUNT); row++) {
        struct lease_lookup *lookup = &lookups[db_ordinal(rows, row, 0, count)];
        if (strcmp(lookup->client, db_text(rows, row, 9)) != 0 && strcmp("*", db_text(rows, row, 9)) != 0)
            continue;
        lookup->found = true;
        lookup->status = read_status(rows, row);
    }
    return e;
}

/* ---- the leases that have ended, in the order of their ends */

void lease_list_free(struct lease_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        lease_status_free(&list->items[i]);
    free(list->items);
    *list = (struct lease_list){0};
}

#define DROPPED "coalesce((SELECT d.ended_ledger FROM fairway.dropped_ends d), 0)"
static const char sql_dropped[] = "SELECT " DROPPED;

/* The ledger of the cursor $2, and the last one that a page is read to: enough of them end `$3` leases. Only
 * one row of a batch names the client. Merged from the indexes of all days: a lease may have ended long after
 * its day. */
#define AFTER "(CASE $2 WHEN 0 THEN " DROPPED " ELSE $2 >> 31 END)"
#define UP_TO                                                                                                \
    "coalesce((SELECT i.ended_ledger FROM fairway.lease_results i WHERE i.client = $1"                       \
    " AND i.ended_ledger > " AFTER " AND i.ended_ledger <= (SELECT c.sequence FROM fairway.cursor c)"        \
    " ORDER BY i.ended_ledger OFFSET greatest($3, 1) - 1 LIMIT 1), (SELECT c.sequence FROM fairway.cursor "  \
    "c))"
static const char sql_committed[] =
    "SELECT coalesce((SELECT c.sequence FROM fairway.cursor c), 0), coalesce(" UP_TO ", 0)";

static const char sql_list[] =
    STATUS("SELECT 1::int8 AS ordinal, e.hash, e.granted_at, 0 AS wants"
           " FROM (SELECT r.* FROM (SELECT DISTINCT i.ended_ledger, i.granted_at FROM fairway.lease_results i"
           "   WHERE i.client = $1 AND i.ended_ledger BETWEEN " AFTER " AND " UP_TO " OFFSET 0) b"
           " CROSS JOIN LATERAL (SELECT * FROM fairway.lease_results i"
           "   WHERE i.granted_at = b.granted_at AND i.ended_ledger = b.ended_ledger OFFSET 0) r"
           " WHERE (r.ended_ledger, r.place) > (" AFTER ","
           "   CASE $2 WHEN 0 THEN 2147483647 ELSE ($2 & 2147483647)::int4 END)"
           " ORDER BY r.ended_ledger, r.place OFFSET 0) e"
           " WHERE $1 = (SELECT i.client FROM fairway.leases i WHERE i.hash = e.hash"
           "   AND fairway.hour_key(i.granted_at, i.hash) = fairway.hour_key(e.granted_at, e.hash)"
           "   AND i.granted_at = e.granted_at LIMIT 1) LIMIT $3") " ORDER BY r.ended_ledger, r.place";

/* A failover may have lost the last ledgers, which are committed again within seconds: a cursor that this
 * service gave waits for them. */
#define LEDGERS_LOST_MAX 100

static enum err judge_cursor(int64_t after, int64_t committed, int64_t dropped, struct detail *detail)
{
    if (after > LEASE_ENDS(committed + LEDGERS_LOST_MAX))
        return detail_set(detail, ERR_INVALID_REQUEST,
            "after names a ledger that is not committed. If this service gave it, its database was set back:"
            " begin with after=0.");
    if (after != 0 && dropped != 0 && after < LEASE_ENDS(dropped))
        return detail_set(detail, ERR_CURSOR_TOO_OLD,
            "Transactions that ended after this cursor are no longer kept. Look up by their hashes those "
            "that "
            "you miss, and go on with after=0.");
    return ERR_OK;
}

static void read_list(
    const struct db_rows *rows, int64_t after, int64_t up_to, size_t limit, struct lease_list *out)
{
    out->items = NEW_ARRAY(db_count(rows), struct lease_status);
    out->count = db_count(rows);
    for (size_t row = 0; row < out->count; row++)
        out->items[row] = read_status(rows, row);
    const int64_t last = out->count == 0 ? 0 : out->items[out->count - 1].ended;
    const int64_t all = after > LEASE_ENDS(up_to) ? after : LEASE_ENDS(up_to);
    out->next = last > all || (last != 0 && out->count == limit) ? last : all;
}

/* Each statement has its own snapshot, in this order: what a ledger that was committed before has ended is in
 * the list, and what was dropped before the list was read is known after it. */
enum err lease_list_read(struct db *db, const char *client, int64_t after, size_t limit,
    struct lease_list *out, struct detail *detail)
{
    const struct db_param params[] = {DB_TEXT(client), DB_I64(after), DB_I64((int64_t)limit)};
    const struct db_statement statements[] = {{sql_committed, params, ARRAY_LEN(params)},
        {sql_list, params, ARRAY_LEN(params)}, DB_SQL0(sql_dropped)};
    AUTO_ROWS_OF(rows, statements);
    *out = (struct lease_list){0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = judge_cursor(after, db_i64(rows[0], 0, 0), db_i64(rows[2], 0, 0), detail);
    if (e == ERR_OK)
        read_list(rows[1], after, db_i64(rows[0], 0, limit > 0), limit, out);
    return e;
}
