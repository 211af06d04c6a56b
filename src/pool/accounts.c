#include "pool/accounts.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "pool/submission.h"

static const char sql_census[] =
    "SELECT a.active, a.creating, a.retiring, a.retiring_leased, a.quarantined, coalesce(c.sequence, 0),"
    " greatest(floor(extract(epoch FROM clock_timestamp()))::int8, c.close_time),"
    " " SUBMISSION_PENDING ","
    " coalesce(" GRANTS_ON_HOLD ", false)"
    " FROM (SELECT count(*) FILTER (WHERE b.state = 'active') AS active,"
    "   count(*) FILTER (WHERE b.state = 'creating') AS creating,"
    "   count(*) FILTER (WHERE b.state = 'retiring') AS retiring,"
    "   count(*) FILTER (WHERE b.state = 'retiring' AND b.lease_hash IS NOT NULL) AS retiring_leased,"
    "   count(*) FILTER (WHERE b.state = 'quarantined') AS quarantined"
    "   FROM fairway.channel_accounts b) a LEFT JOIN fairway.cursor c ON true";

/* The provisioning lock keeps every other writer of slots away, so the free ones stay free until COMMIT. */
static const char sql_store[] =
    "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state)"
    " SELECT k.public_key, s.slot, k.box, k.key_id, 'creating'"
    " FROM unnest($1::text[], $2::bytea[], $3::text[]) WITH ORDINALITY AS k (public_key, box, key_id, "
    "ordinal)"
    " JOIN (SELECT n AS slot, row_number() OVER (ORDER BY n) AS ordinal"
    "   FROM generate_series(0, (SELECT coalesce(max(a.slot), -1) FROM fairway.channel_accounts a) + "
    "$4::int4) n"
    "   WHERE NOT EXISTS (SELECT FROM fairway.channel_accounts b WHERE b.slot = n)) s USING (ordinal)";

static const char sql_creating[] =
    "SELECT a.public_key, a.sealed_seed, a.key_id FROM fairway.channel_accounts a"
    " WHERE a.state = 'creating' ORDER BY a.slot LIMIT $1";

/* Without a lease nothing that the account signed can still be included, unless a lease was forgotten. */
static const char sql_merging[] =
    "SELECT a.public_key, a.sealed_seed, a.key_id FROM fairway.channel_accounts a"
    " WHERE a.state = 'retiring' AND a.lease_hash IS NULL ORDER BY a.slot LIMIT $1";

static const char sql_hold[] =
    "SELECT a.state = $2 AND a.lease_hash IS NULL FROM fairway.channel_accounts a"
    " WHERE a.public_key = ANY ($1::text[]) ORDER BY a.public_key COLLATE \"C\" FOR UPDATE";

/* Rows that a grant or a ledger has locked are skipped, so that no order of locks can deadlock. */
static const char sql_retire[] =
    "WITH surplus AS MATERIALIZED (SELECT a.public_key FROM fairway.channel_accounts a WHERE a.state = "
    "'active'"
    "   ORDER BY (a.lease_hash IS NOT NULL), a.slot DESC LIMIT $1 FOR UPDATE SKIP LOCKED)"
    " UPDATE fairway.channel_accounts b SET state = 'retiring' FROM surplus s WHERE b.public_key = "
    "s.public_key";

/* One that no ledger has created yet stays without a sequence number. */
static const char sql_quarantine[] =
    "UPDATE fairway.channel_accounts a SET state = 'quarantined', quarantine_reason = $2"
    " WHERE a.public_key = $1";

enum err pool_counts_read(struct db *db, struct pool_counts *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_census), &rows, detail);
    if (e != ERR_OK)
        return e;
    *out = (struct pool_counts){
        .active = db_i64(rows, 0, 0),
        .creating = db_i64(rows, 0, 1),
        .retiring = db_i64(rows, 0, 2),
        .retiring_leased = db_i64(rows, 0, 3),
        .quarantined = db_i64(rows, 0, 4),
        .cursor = (uint32_t)db_i64(rows, 0, 5),
        .now_s = (uint64_t)db_i64(rows, 0, 6),
        .pending = db_bool(rows, 0, 7),
        .held = db_bool(rows, 0, 8),
    };
    return ERR_OK;
}

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

static enum err read_account(const struct db_rows *rows, size_t row, struct batch *out, struct detail *detail)
{
    struct sealed_seed *sealed = &out->sealed[out->count];
    struct bytes box = db_bytea(rows, row, 1);
    const char *address = db_text(rows, row, 0), *key_id = db_text(rows, row, 2);
    if (address_decode(address, &out->keys[out->count]) != ERR_OK || box.len != sizeof sealed->box ||
        strlen(key_id) != sizeof sealed->key_id - 1)
        return detail_set(detail, ERR_INTERNAL, "the row of account %s is malformed", address);
    memcpy(sealed->box, box.data, box.len);
    memcpy(sealed->key_id, key_id, sizeof sealed->key_id);
    out->count++;
    return ERR_OK;
}

enum err accounts_pick(
    struct db *db, enum provisioning_kind kind, size_t limit, struct batch *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const char *sql = kind == PROVISIONING_CREATION ? sql_creating : sql_merging;
    out->count = 0;
    if (limit > PROVISIONING_ACCOUNTS_MAX)
        limit = PROVISIONING_ACCOUNTS_MAX;
    enum err e = db_query(db, DB_SQL(sql, DB_I64((int64_t)limit)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++)
        e = read_account(rows, row, out, detail);
    return e;
}

enum err accounts_lock(
    struct db *db, enum provisioning_kind kind, const struct batch *batch, struct detail *detail)
{
    char addresses[PROVISIONING_ACCOUNTS_MAX][ADDRESS_SIZE];
    const char *texts[PROVISIONING_ACCOUNTS_MAX];
    for (size_t i = 0; i < batch->count; i++) {
        address_encode(&batch->keys[i], addresses[i]);
        texts[i] = addresses[i];
    }
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db,
        DB_SQL(sql_hold, DB_TEXTS(texts, batch->count),
            DB_TEXT(kind == PROVISIONING_CREATION ? "creating" : "retiring")),
        &rows, detail);
    if (e != ERR_OK)
        return e;
    bool all = db_count(rows) == batch->count;
    for (size_t row = 0; row < db_count(rows); row++)
        all &= db_bool(rows, row, 0);
    return all ? ERR_OK : detail_set(detail, ERR_NOT_YET, "an account was changed meanwhile");
}

enum err accounts_retire(struct db *db, int64_t count, size_t *retired, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_retire, DB_I64(count)), &rows, detail);
    *retired = e == ERR_OK ? db_affected(rows) : 0;
    return e;
}

enum err accounts_quarantine(
    struct db *db, const struct public_key *account, const char *reason, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    log_error("channel account quarantined", "account=%s reason=\"%s\"", address, reason);
    return db_query(db, DB_SQL(sql_quarantine, DB_TEXT(address), DB_TEXT(reason)), NULL, detail);
}
