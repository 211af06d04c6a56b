#include "pool/fee_bump.h"

#include "base/mem.h"
#include "pool/account_read.h"
#include "pool/funds.h"

static const char sql_find_lease[] =
    "SELECT " ACCOUNT_SEED_COLUMNS ", " FUNDS_SPENDABLE " FROM fairway.leases l"
    " JOIN fairway.channel_accounts a ON a.public_key = l.account"
    " WHERE l.hash = $1 AND l.client = $2 AND l.settled_at IS NULL";

enum err fee_bump_find_lease(struct db *db, const struct hash *hash, const char *client,
    struct fee_bump_lease *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_find_lease, DB_BYTEA(BYTES_OF(hash->bytes)), DB_TEXT(client)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return detail_set(detail, ERR_NOT_ELIGIBLE, "no open lease has this transaction's hash");
    out->spendable_stroops = db_i64(rows, 0, ACCOUNT_SEED_COLUMN_COUNT);
    return account_read_seed(rows, 0, 0, &out->account, &out->sealed, detail);
}

/* The lock keeps the lease open until the fee bump's row is committed. */
static const char sql_record[] =
    "WITH lease AS (SELECT l.hash FROM fairway.leases l"
    "   WHERE l.hash = $2 AND l.settled_at IS NULL FOR SHARE),"
    " bump AS (INSERT INTO fairway.fee_bumps (hash, lease_hash, fee) SELECT $1, lease.hash, $3 FROM lease"
    "   ON CONFLICT (hash) DO NOTHING)"
    " SELECT count(*) FROM lease";

enum err fee_bump_record(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    int64_t fee_stroops, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_execute(db,
        DB_SQL(sql_record, DB_BYTEA(BYTES_OF(fee_bump->bytes)), DB_BYTEA(BYTES_OF(lease->bytes)),
            DB_I64(fee_stroops)),
        &rows, detail);
    if (e == ERR_OK && db_i64(rows, 0, 0) == 0)
        return detail_set(detail, ERR_NOT_ELIGIBLE, "the lease has ended meanwhile");
    return e;
}
