#include "pool/accounts.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/account_read.h"
#include "pool/grants_allowed.h"

/* ---- for provisioning */

/* The provisioning lock excludes every other writer of slots, so the free ones stay free until COMMIT. */
static const char sql_store[] =
    "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state)"
    " SELECT k.public_key, s.slot, k.box, k.key_id, 'creating'"
    " FROM unnest($1::text[], $2::bytea[], $3::text[])"
    "   WITH ORDINALITY AS k (public_key, box, key_id, ordinal)"
    " JOIN (SELECT n AS slot, row_number() OVER (ORDER BY n) AS ordinal"
    "   FROM generate_series(0,"
    "     (SELECT coalesce(max(a.slot), -1) FROM fairway.channel_accounts a) + $4::int4) n"
    "   WHERE NOT EXISTS (SELECT FROM fairway.channel_accounts b WHERE b.slot = n)) s USING (ordinal)";

enum err accounts_store(struct db *db, const struct generated_key keys[], size_t count, struct detail *detail)
{
    char addresses[PROVISIONING_ACCOUNTS_MAX][ADDRESS_SIZE];
    const char *texts[PROVISIONING_ACCOUNTS_MAX], *key_ids[PROVISIONING_ACCOUNTS_MAX];
    struct bytes boxes[PROVISIONING_ACCOUNTS_MAX];
    if (count > PROVISIONING_ACCOUNTS_MAX)
        return detail_set(detail, ERR_INTERNAL, "%zu keys are too many for a batch", count);
    for (size_t i = 0; i < count; i++) {
        address_encode(&keys[i].public_key, addresses[i]);
        texts[i] = addresses[i];
        key_ids[i] = keys[i].sealed.key_id;
        boxes[i] = BYTES_OF(keys[i].sealed.box);
    }
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db,
        DB_SQL(sql_store, DB_TEXTS(texts, count), DB_BYTEAS(boxes, count), DB_TEXTS(key_ids, count),
            DB_I32((int32_t)count)),
        &rows, detail);
    if (e == ERR_OK && db_affected(rows) != count)
        return detail_set(detail, ERR_INTERNAL, "%zu of %zu keys were stored", db_affected(rows), count);
    return e;
}

static const char sql_creating[] = "SELECT " ACCOUNT_SEED_COLUMNS " FROM fairway.channel_accounts a"
                                   " WHERE a.state = 'creating' ORDER BY a.slot LIMIT $1";

/* Without a lease, nothing that the account signed can still be included, unless a lease was forgotten. */
static const char sql_merging[] =
    "SELECT " ACCOUNT_SEED_COLUMNS " FROM fairway.channel_accounts a"
    " WHERE a.state = 'retiring' AND a.lease_hash IS NULL ORDER BY a.slot LIMIT $1";

enum err accounts_pick(struct db *db, enum provisioning_kind kind, size_t limit, struct account_batch *out,
    struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const char *sql = kind == PROVISIONING_CREATION ? sql_creating : sql_merging;
    out->count = 0;
    if (limit > PROVISIONING_ACCOUNTS_MAX)
        limit = PROVISIONING_ACCOUNTS_MAX;
    enum err e = db_query(db, DB_SQL(sql, DB_I64((int64_t)limit)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++, out->count++)
        e = account_read_seed(rows, row, 0, &out->keys[out->count], &out->sealed[out->count], detail);
    return e;
}

/* Addresses of accounts as an SQL parameter. */
struct addresses {
    char (*encoded)[ADDRESS_SIZE];
    const char **texts;
};

static void addresses_free(struct addresses *addresses)
{
    free(addresses->encoded);
    free(addresses->texts);
}

static struct addresses addresses_of(const struct public_key keys[], size_t count)
{
    struct addresses addresses = {mem_new(count, ADDRESS_SIZE), NEW_ARRAY(count, const char *)};
    for (size_t i = 0; i < count; i++) {
        address_encode(&keys[i], addresses.encoded[i]);
        addresses.texts[i] = addresses.encoded[i];
    }
    return addresses;
}

static const char sql_lock_batch[] =
    "SELECT a.state = $2 AND a.lease_hash IS NULL FROM fairway.channel_accounts a"
    " WHERE a.public_key = ANY ($1::text[]) ORDER BY a.public_key COLLATE \"C\" FOR UPDATE";

enum err accounts_lock(
    struct db *db, enum provisioning_kind kind, const struct account_batch *batch, struct detail *detail)
{
    struct addresses addresses CLEANUP(addresses_free) = addresses_of(batch->keys, batch->count);
    const enum account_state state = kind == PROVISIONING_CREATION ? ACCOUNT_CREATING : ACCOUNT_RETIRING;
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db,
        DB_SQL(sql_lock_batch, DB_TEXTS(addresses.texts, batch->count), DB_TEXT(account_state_name(state))),
        &rows, detail);
    if (e != ERR_OK)
        return e;
    bool all = db_count(rows) == batch->count;
    for (size_t row = 0; row < db_count(rows); row++)
        all &= db_bool(rows, row, 0);
    return all ? ERR_OK : detail_set(detail, ERR_NOT_YET, "an account of the batch was changed meanwhile");
}

/* Skips rows that a grant or a ledger has locked, so no order of locks can deadlock. */
static const char sql_retire[] =
    "WITH surplus AS MATERIALIZED (SELECT a.public_key FROM fairway.channel_accounts a"
    "   WHERE a.state = 'active'"
    "   ORDER BY (a.lease_hash IS NOT NULL), a.slot DESC LIMIT $1 FOR UPDATE SKIP LOCKED)"
    " UPDATE fairway.channel_accounts b SET state = 'retiring'"
    " FROM surplus s WHERE b.public_key = s.public_key";

enum err accounts_retire(struct db *db, int64_t count, size_t *retired, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_retire, DB_I64(count)), &rows, detail);
    *retired = e == ERR_OK ? db_affected(rows) : 0;
    return e;
}

/* ---- for provisioning and grants */

/* An account that no ledger has created yet stays without a sequence number. */
static const char sql_quarantine[] =
    "UPDATE fairway.channel_accounts a SET state = 'quarantined', quarantine_reason = $2"
    " WHERE a.public_key = ANY ($1::text[])";

enum err accounts_quarantine(struct db *db, const struct public_key accounts[], size_t count,
    const char *reason, struct detail *detail)
{
    struct addresses addresses CLEANUP(addresses_free) = addresses_of(accounts, count);
    for (size_t i = 0; i < count; i++)
        log_error("channel account quarantined", "account=%s reason=\"%s\"", addresses.texts[i], reason);
    return db_query(
        db, DB_SQL(sql_quarantine, DB_TEXTS(addresses.texts, count), DB_TEXT(reason)), NULL, detail);
}

/* ---- for an operator's change of one account */

static const char sql_lock_cursor[] = "SELECT c.sequence, " GRANTS_ON_HOLD " FROM fairway.cursor c FOR SHARE";

static const char sql_lock[] = "SELECT a.state, a.lease_hash IS NOT NULL, coalesce(a.sequence_ledger, 0)"
                               " FROM fairway.channel_accounts a WHERE a.public_key = $1 FOR UPDATE";

static enum err read_locked(const struct db_rows *cursor, const struct db_rows *account,
    struct account_locked *out, struct detail *detail)
{
    *out = (struct account_locked){0};
    if (db_count(account) == 0)
        return detail_set(detail, ERR_REFUSED, "refused: not an account of this pool");
    if (account_state_parse(db_text(account, 0, 0), &out->state) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "unknown state \"%s\"", db_text(account, 0, 0));
    out->leased = db_bool(account, 0, 1);
    out->sequence_ledger = (uint32_t)db_i64(account, 0, 2);
    if (db_count(cursor) > 0) {
        out->cursor = (uint32_t)db_i64(cursor, 0, 0);
        out->grants_on_hold = db_bool(cursor, 0, 1);
    }
    return ERR_OK;
}

enum err account_lock(
    struct db *db, const struct public_key *account, struct account_locked *out, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    const struct db_statement statements[] = {DB_SQL0(sql_lock_cursor), DB_SQL(sql_lock, DB_TEXT(address))};
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = read_locked(rows[0], rows[1], out, detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    return e;
}

static const char sql_change_state[] =
    "UPDATE fairway.channel_accounts a SET state = $2, quarantine_reason = NULL,"
    " slot = CASE $2 WHEN 'retired' THEN NULL ELSE a.slot END, sequence = coalesce($3, a.sequence),"
    " sequence_ledger = coalesce($4, a.sequence_ledger) WHERE a.public_key = $1";

enum err account_change_state(struct db *db, const struct public_key *account, enum account_state state,
    int64_t sequence, uint32_t ledger, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    const struct db_statement statements[] = {
        DB_SQL(sql_change_state, DB_TEXT(address), DB_TEXT(account_state_name(state)),
            ledger == 0 ? DB_NONE : DB_I64(sequence), ledger == 0 ? DB_NONE : DB_I64(ledger)),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}
