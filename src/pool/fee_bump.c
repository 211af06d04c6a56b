#include "pool/fee_bump.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "pool/account_read.h"
#include "pool/funds.h"

/* How a lease has ended. */
#define RESULT_COLUMNS "coalesce(l.result, ''), coalesce(l.ledger, 0), l.max_time"

/* ERR_OK: the lease is open. */
static enum err check_open(const struct db_rows *rows, int column, struct detail *detail)
{
    const char *result = db_text(rows, 0, column);
    const int64_t ledger = db_i64(rows, 0, column + 1), max_time_s = db_i64(rows, 0, column + 2);
    if (result[0] == '\0')
        return ERR_OK;
    if (strcmp(result, "expired") == 0)
        return detail_set(detail, ERR_LEASE_EXPIRED,
            "No ledger up to the max time %" PRId64
            " has the transaction, and none can include it now. Lease it "
            "again, with a new Idempotency-Key.",
            max_time_s);
    return detail_set(detail, ERR_LEASE_SETTLED,
        "The transaction is %s, since ledger %" PRId64
        ": a fee bump has no effect now. GET /v1/transactions/{hash} returns its result.",
        result, ledger);
}

static const char sql_find_lease[] =
    "SELECT " ACCOUNT_SEED_COLUMNS ", " FUNDS_SPENDABLE ", " RESULT_COLUMNS " FROM fairway.leases l"
    " JOIN fairway.channel_accounts a ON a.public_key = l.account"
    " WHERE l.hash = $1 AND l.client = $2";

/* Whether the account has an open lease of this client. A transaction with an older sequence number than
 * that lease belongs to another one, which was deleted. */
static const char sql_find_source[] =
    "SELECT l.hash IS NOT NULL FROM fairway.channel_accounts a"
    " LEFT JOIN fairway.leases l ON l.account = a.public_key AND l.settled_at IS NULL AND l.client = $2"
    "   AND l.sequence <= $3"
    " WHERE a.public_key = $1";

/* No lease of this client has the hash: why. */
static enum err refuse_unknown(struct db *db, const struct hash *hash, const struct envelope *transaction,
    const char *client, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    char source[ADDRESS_SIZE], hex[HASH_HEX_SIZE];
    address_encode(&transaction->source, source);
    hash_encode(hash, hex);
    enum err e =
        db_query(db, DB_SQL(sql_find_source, DB_TEXT(source), DB_TEXT(client), DB_I64(transaction->sequence)),
            &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return detail_set(detail, ERR_NOT_ELIGIBLE,
            "The source %s is not a channel account. Lease the transaction with POST /v1/transactions; send "
            "the transactionXdr of its reply.",
            source);
    if (db_bool(rows, 0, 0))
        return detail_set(detail, ERR_TRANSACTION_CHANGED,
            "The transaction was changed: channel account %s is leased for another hash. Add only signatures "
            "to the leased transactionXdr.",
            source);
    return detail_set(detail, ERR_LEASE_NOT_FOUND,
        "No lease has the transaction's hash %s. Lease it with POST /v1/transactions.", hex);
}

enum err fee_bump_find_lease(struct db *db, const struct hash *hash, const struct envelope *transaction,
    const char *client, struct fee_bump_lease *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_find_lease, DB_BYTEA(BYTES_OF(hash->bytes)), DB_TEXT(client)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return refuse_unknown(db, hash, transaction, client, detail);
    if ((e = check_open(rows, ACCOUNT_SEED_COLUMN_COUNT + 1, detail)) != ERR_OK)
        return e;
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

static const char sql_find_result[] = "SELECT " RESULT_COLUMNS " FROM fairway.leases l WHERE l.hash = $1";

/* The lease has ended since fee_bump_find_lease. In a statement of its own, whose snapshot has the result. */
static enum err refuse_ended(struct db *db, const struct hash *lease, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_find_result, DB_BYTEA(BYTES_OF(lease->bytes))), &rows, detail);
    if (e == ERR_OK && db_count(rows) == 1)
        e = check_open(rows, 0, detail);
    return e != ERR_OK ? e : detail_set(detail, ERR_LEASE_NOT_FOUND, "The lease has been deleted.");
}

enum err fee_bump_record(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    int64_t fee_stroops, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_execute(db,
        DB_SQL(sql_record, DB_BYTEA(BYTES_OF(fee_bump->bytes)), DB_BYTEA(BYTES_OF(lease->bytes)),
            DB_I64(fee_stroops)),
        &rows, detail);
    return e == ERR_OK && db_i64(rows, 0, 0) == 0 ? refuse_ended(db, lease, detail) : e;
}
