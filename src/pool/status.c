#include "pool/status.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "db/server.h"
#include "pool/grants_allowed.h"

/* A text column, '' for NULL, cut to fit. */
static void copy_text(char *out, size_t size, const struct db_rows *rows, size_t row, int column)
{
    snprintf(out, size, "%s", db_is_null(rows, row, column) ? "" : db_text(rows, row, column));
}

static const char sql_lease_key[] =
    "SELECT a.public_key, a.key_id, a.sealed_seed, " FUNDS_SPENDABLE " FROM fairway.leases l"
    " JOIN fairway.channel_accounts a ON a.public_key = l.account"
    " WHERE l.hash = $1 AND l.client = $2 AND l.settled_at IS NULL";

enum err lease_key(
    struct db *db, const struct hash *hash, const char *client, struct lease_key *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_lease_key, DB_BYTEA(BYTES_OF(hash->bytes)), DB_TEXT(client)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return detail_set(detail, ERR_NOT_ELIGIBLE, "no open lease has this transaction's hash");
    struct bytes box = db_bytea(rows, 0, 2);
    copy_text(out->sealed.key_id, sizeof out->sealed.key_id, rows, 0, 1);
    if (box.len != SEAL_SIZE || address_decode(db_text(rows, 0, 0), &out->account) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, 0, 0));
    memcpy(out->sealed.box, box.data, SEAL_SIZE);
    out->spendable_stroops = db_i64(rows, 0, 3);
    return ERR_OK;
}

/* The lock keeps the lease open until the fee bump's row is there; the same fee bump twice is one. */
static const char sql_fee_bump[] =
    "WITH lease AS (SELECT l.hash FROM fairway.leases l WHERE l.hash = $2 AND l.settled_at IS NULL FOR "
    "SHARE),"
    " bump AS (INSERT INTO fairway.fee_bumps (hash, lease_hash, fee) SELECT $1, lease.hash, $3 FROM lease"
    "   ON CONFLICT (hash) DO NOTHING)"
    " SELECT count(*) FROM lease";

enum err fee_bump_record(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    int64_t fee_stroops, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_execute(db,
        DB_SQL(sql_fee_bump, DB_BYTEA(BYTES_OF(fee_bump->bytes)), DB_BYTEA(BYTES_OF(lease->bytes)),
            DB_I64(fee_stroops)),
        &rows, detail);
    if (e == ERR_OK && db_i64(rows, 0, 0) == 0)
        return detail_set(detail, ERR_NOT_ELIGIBLE, "the lease has ended meanwhile");
    return e;
}

static const char sql_pool_status[] =
    "SELECT count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NULL),"
    " count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NOT NULL),"
    " count(*) FILTER (WHERE a.state = 'creating'), count(*) FILTER (WHERE a.state = 'retiring'),"
    " count(*) FILTER (WHERE a.state = 'quarantined'),"
    " greatest(floor(extract(epoch FROM clock_timestamp() - min(a.locked_at))), 0)::int8"
    " FROM fairway.channel_accounts a";

static const char sql_cursor_status[] =
    "SELECT c.sequence, c.close_time, floor(extract(epoch FROM clock_timestamp()))::int8 - c.close_time,"
    " c.grants_allowed, " GRANTS_ON_HOLD " FROM fairway.cursor c";

static const char sql_server_status[] = "SELECT " SERVER_HAS_SYNCHRONOUS_STANDBY;

enum err pool_status(struct db *db, struct pool_status *out, struct detail *detail)
{
    enum {
        POOL,
        CURSOR,
        SERVER,
        FUNDS,
        STEPS
    };
    struct db_rows *rows[STEPS] = {0};
    const struct db_statement statements[STEPS] = {
        DB_SQL0(sql_pool_status), DB_SQL0(sql_cursor_status), DB_SQL0(sql_server_status), funds_statement()};
    enum err e = db_run(db, statements, STEPS, rows, detail);
    *out = (struct pool_status){0};
    if (e == ERR_OK) {
        out->idle = db_i64(rows[POOL], 0, 0);
        out->leased = db_i64(rows[POOL], 0, 1);
        out->creating = db_i64(rows[POOL], 0, 2);
        out->retiring = db_i64(rows[POOL], 0, 3);
        out->quarantined = db_i64(rows[POOL], 0, 4);
        out->oldest_lease_s = db_i64(rows[POOL], 0, 5);
        out->synchronous_standby = db_bool(rows[SERVER], 0, 0);
        e = funds_read(rows[FUNDS], &out->funds, detail);
    }
    if (e == ERR_OK && db_count(rows[CURSOR]) == 1) {
        out->cursor_sequence = db_i64(rows[CURSOR], 0, 0);
        out->cursor_close_time_s = db_i64(rows[CURSOR], 0, 1);
        out->cursor_lag_s = db_i64(rows[CURSOR], 0, 2);
        out->grants_held = db_bool(rows[CURSOR], 0, 4);
        out->grants_allowed = db_bool(rows[CURSOR], 0, 3) && !out->grants_held;
    }
    for (size_t i = 0; i < STEPS; i++)
        db_rows_free(rows[i]);
    return e;
}

/* idle and leased are the two faces of active. In the column's own collation, so that the primary key's index
 * gives the page: with another one, each page sorts all that is left. */
static const char sql_account_page[] =
    "SELECT f.public_key, f.face, f.quarantine_reason, coalesce(f.sequence, -1), coalesce(f.sequence_ledger, "
    "-1),"
    " f.lease_hash, coalesce(floor(extract(epoch FROM f.locked_until)), 0)::int8"
    " FROM (SELECT a.public_key, a.quarantine_reason, a.sequence, a.sequence_ledger, a.lease_hash, "
    "a.locked_until,"
    "   CASE WHEN a.state <> 'active' THEN a.state WHEN a.lease_hash IS NULL THEN 'idle' ELSE 'leased' END "
    "AS face"
    "   FROM fairway.channel_accounts a WHERE a.public_key > $2) f"
    " WHERE CASE WHEN $1::text IS NULL THEN f.face <> 'retired' ELSE f.face = $1 END"
    " ORDER BY f.public_key LIMIT $3";

enum err account_page(struct db *db, const char *state, const char *after, size_t limit,
    struct account_status out[], size_t *count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(
        db, DB_SQL(sql_account_page, DB_TEXT(state), DB_TEXT(after), DB_I64((int64_t)limit)), &rows, detail);
    *count = e == ERR_OK ? db_count(rows) : 0;
    for (size_t i = 0; i < *count; i++) {
        struct account_status *account = &out[i];
        *account = (struct account_status){.leased = !db_is_null(rows, i, 5)};
        copy_text(account->public_key, sizeof account->public_key, rows, i, 0);
        copy_text(account->state, sizeof account->state, rows, i, 1);
        copy_text(account->reason, sizeof account->reason, rows, i, 2);
        account->sequence = db_i64(rows, i, 3);
        account->sequence_ledger = db_i64(rows, i, 4);
        if (account->leased)
            memcpy(account->lease_hash.bytes, db_bytea(rows, i, 5).data, sizeof account->lease_hash.bytes);
        account->lease_max_time_s = db_i64(rows, i, 6);
    }
    return e;
}
