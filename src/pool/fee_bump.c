/* Reads what fee bumps need, and records them. Nothing is signed here, and nothing is handed out before it is
 * recorded. */
#include "pool/fee_bump.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "pool/account_read.h"
#include "pool/funds.h"
#include "pool/submissions.h"
#include "stellar/envelope_build.h"

/* The items as columns of SQL parameters. */
struct columns {
    char address[FEE_BUMPS_MAX][ADDRESS_SIZE];
    const char *source[FEE_BUMPS_MAX], *client[FEE_BUMPS_MAX];
    struct bytes lease[FEE_BUMPS_MAX], hash[FEE_BUMPS_MAX];
    int64_t sequence[FEE_BUMPS_MAX], fee[FEE_BUMPS_MAX], lane[FEE_BUMPS_MAX];
    int64_t bumps_max[FEE_BUMPS_MAX], day_max[FEE_BUMPS_MAX];
    /* Of submissions: NULL for others. */
    struct hash inner_digests[FEE_BUMPS_MAX];
    struct bytes inner_digest[FEE_BUMPS_MAX], outer[FEE_BUMPS_MAX], replaced[FEE_BUMPS_MAX];
    int64_t max_fee[FEE_BUMPS_MAX];
    bool submits; /* any does */
};

static void fill(struct columns *columns, struct fee_bump_item *const items[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct fee_bump_item *item = items[i];
        address_encode(&item->source, columns->address[i]);
        columns->source[i] = columns->address[i];
        columns->client[i] = item->client;
        columns->lease[i] = BYTES_OF(item->lease.bytes);
        columns->hash[i] = BYTES_OF(item->hash.bytes);
        columns->sequence[i] = item->sequence;
        columns->fee[i] = item->fee_stroops;
        columns->lane[i] = item->lane + 1;
        columns->bumps_max[i] = item->limits.most[LIMIT_FEE_BUMPS];
        columns->day_max[i] = item->limits.most[LIMIT_STROOPS_PER_DAY];
        if (!item->submits)
            continue;
        if (item->outer.len > 0) /* when it is recorded; as in the bid, whose form a repeat may not have */
            columns->inner_digests[i] = sha256(fee_bump_inner(item->outer));
        columns->inner_digest[i] = BYTES_OF(columns->inner_digests[i].bytes);
        columns->outer[i] = item->outer;
        columns->max_fee[i] = item->max_fee_stroops;
        if (item->replaced != NULL)
            columns->replaced[i] = BYTES_OF(item->replaced->bytes);
        columns->submits = true;
    }
}

/* How the leases of these hashes and clients have ended; '' when one is open. */
static const char sql_find_ended[] =
    "SELECT l.ordinal, coalesce(l.result, ''), coalesce(l.ledger, 0), l.max_time"
    " FROM fairway.find_leases($1) l WHERE l.client = ($2::text[])[l.ordinal]";

static void refuse_ended(struct fee_bump_item *item, const struct db_rows *rows, size_t row)
{
    const char *result = db_text(rows, row, 1);
    if (strcmp(result, "expired") == 0)
        item->error = detail_set(&item->detail, ERR_LEASE_EXPIRED,
            "The lease has expired: no ledger up to its max time %" PRId64
            " includes the transaction. Request a new lease, with a new Idempotency-Key.",
            db_i64(rows, row, 3));
    else if (result[0] != '\0')
        item->error = detail_set(&item->detail, ERR_LEASE_SETTLED,
            "The lease ended as %s in ledger %" PRId64
            ". A fee bump has no effect now. GET /v1/transactions/{hash} returns the result.",
            result, db_i64(rows, row, 2));
}

/* Of the items that are refused already, but not for their source, gives those whose leases have ended that
 * error. */
static enum err find_ended(
    struct db *db, struct fee_bump_item *const items[], size_t count, struct detail *detail)
{
    struct bytes leases[FEE_BUMPS_MAX] = {0}; /* NULL: not looked up */
    const char *clients[FEE_BUMPS_MAX];
    bool any = false;
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        clients[i] = items[i]->client;
        if (items[i]->error == ERR_OK || items[i]->error == ERR_NOT_ELIGIBLE)
            continue;
        leases[i] = BYTES_OF(items[i]->lease.bytes);
        any = true;
    }
    if (!any)
        return ERR_OK;
    enum err e = db_query(
        db, DB_SQL(sql_find_ended, DB_BYTEAS(leases, count), DB_TEXTS(clients, count)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, DB_ANY_COUNT); row++)
        refuse_ended(items[db_ordinal(rows, row, 0, count)], rows, row);
    return e;
}

/* The source accounts, and whether their open lease is this client's. A transaction with an older
 * sequence number than that lease belongs to another lease, which has ended. */
static const char sql_find[] =
    "SELECT n.ordinal, " ACCOUNT_SEED_COLUMNS ", " FUNDS_SPENDABLE ","
    " coalesce(a.lease_client = n.client AND a.lease_hash = n.hash, false),"
    " coalesce(a.lease_client = n.client AND a.lease_sequence <= n.sequence, false), b.bumps, b.highest,"
    " CASE WHEN s.day >= (now() AT TIME ZONE 'UTC')::date THEN s.stroops ELSE 0 END,"
    " " SUBMISSIONS_PRICE ", coalesce(u.bid, 0),"
    " u.rejected IS NOT NULL, coalesce(u.max_fee, 0), coalesce(u.stroops_max, 0)"
    " FROM unnest($1::text[], $2::bytea[], $3::text[], $4::int8[], $5::int8[]) WITH ORDINALITY"
    "   AS n (source, hash, client, sequence, lane, ordinal)"
    " CROSS JOIN LATERAL fairway.newest_account(n.source) a"
    " LEFT JOIN fairway.submissions u ON u.lease_hash = n.hash"
    " CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE NOT f.raise) AS bumps,"
    "   coalesce(max(f.fee), 0) AS highest FROM fairway.fee_bumps f"
    "   WHERE f.granted_at = a.locked_at AND f.lease_hash = n.hash) b"
    " LEFT JOIN LATERAL fairway.newest_fees(n.client) s ON true";
enum {
    FIND_SPENDABLE = 1 + ACCOUNT_SEED_COLUMN_COUNT,
    FIND_OPEN,
    FIND_LATER,
    FIND_BUMPS,
    FIND_HIGHEST,
    FIND_SPENT,
    FIND_PRICE,
    FIND_BID,
    FIND_REJECTED,
    FIND_CAP,
    FIND_DAY_MAX
};

static void refuse_source(struct fee_bump_item *item, const char *source)
{
    item->error = detail_set(&item->detail, ERR_NOT_ELIGIBLE,
        "The source %s is not a channel account. Lease the transaction with POST /v1/transactions; send "
        "the transactionXdr of its reply.",
        source);
}

/* The account has no open lease of the transaction. find_ended may replace the error. */
static void refuse_not_open(struct fee_bump_item *item, const char *source, bool later)
{
    char hex[HASH_HEX_SIZE];
    hash_encode(&item->lease, hex);
    if (later)
        item->error = detail_set(&item->detail, ERR_TRANSACTION_CHANGED,
            "The transaction was changed: channel account %s is leased for another hash. Add only signatures "
            "to the leased transactionXdr.",
            source);
    else
        item->error = detail_set(&item->detail, ERR_LEASE_NOT_FOUND,
            "No lease has the transaction's hash %s. Lease it with POST /v1/transactions.", hex);
}

static enum err read_found(
    struct fee_bump_item *item, const struct db_rows *rows, size_t row, struct detail *detail)
{
    struct public_key account;
    item->error = ERR_OK;
    item->spendable_stroops = db_i64(rows, row, FIND_SPENDABLE);
    item->bumps = db_i64(rows, row, FIND_BUMPS);
    item->highest_stroops = db_i64(rows, row, FIND_HIGHEST);
    item->spent_stroops = db_i64(rows, row, FIND_SPENT);
    item->price_stroops = db_i64(rows, row, FIND_PRICE);
    item->bid_stroops = db_i64(rows, row, FIND_BID);
    item->rejected = db_bool(rows, row, FIND_REJECTED);
    item->max_fee_stroops = db_i64(rows, row, FIND_CAP);
    if (item->replaced != NULL)
        item->limits.most[LIMIT_STROOPS_PER_DAY] = db_i64(rows, row, FIND_DAY_MAX);
    if (!db_bool(rows, row, FIND_OPEN))
        refuse_not_open(item, db_text(rows, row, 1), db_bool(rows, row, FIND_LATER));
    return account_read_seed(rows, row, 1, &account, &item->sealed, detail);
}

enum err fee_bumps_find(
    struct db *db, struct fee_bump_item *const items[], size_t count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    struct columns *all AUTO_FREE = NEW(struct columns);
    fill(all, items, count);
    for (size_t i = 0; i < count; i++)
        refuse_source(items[i], all->source[i]);
    enum err e = db_query(db,
        DB_SQL(sql_find, DB_TEXTS(all->source, count), DB_BYTEAS(all->lease, count),
            DB_TEXTS(all->client, count), DB_I64S(all->sequence, count), DB_I64S(all->lane, count)),
        &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, DB_ANY_COUNT); row++)
        e = read_found(items[db_ordinal(rows, row, 0, count)], rows, row, detail);
    return e == ERR_OK ? find_ended(db, items, count, detail) : e;
}

/* Returns a row for each item whose lease is open; refused_by names the limit that refuses it, if any. */
static const char sql_record[] = "SELECT r.ordinal, coalesce(r.refused_by, '')"
                                 " FROM fairway.record_fee_bumps($1, $2, $3, $4, $5, $6, $7) r";

/* The same with submissions: also whether it is the lease's first, and the cursor when it is to be sent. */
static const char sql_record_bids[] =
    "SELECT r.ordinal, coalesce(r.refused_by, ''), r.is_first, r.sent_ledger"
    " FROM fairway.record_bids($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) r";

static void read_recorded(struct fee_bump_item *item, const struct db_rows *rows, size_t row)
{
    if (item->submits) {
        item->first = db_bool(rows, row, 2);
        item->sent_ledger = db_i64(rows, row, 3);
    }
    item->limit = limit_of(db_text(rows, row, 1));
    item->error = limit_refuse(item->limit, &item->limits, &item->detail);
}

enum err fee_bumps_record(
    struct db *db, struct fee_bump_item *const items[], size_t count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    bool recorded[FEE_BUMPS_MAX] = {false};
    struct columns *all AUTO_FREE = NEW(struct columns);
    if (count == 0)
        return ERR_OK;
    fill(all, items, count);
    struct db_statement statement =
        DB_SQL(sql_record_bids, DB_BYTEAS(all->hash, count), DB_BYTEAS(all->lease, count),
            DB_I64S(all->fee, count), DB_TEXTS(all->source, count), DB_TEXTS(all->client, count),
            DB_I64S(all->bumps_max, count), DB_I64S(all->day_max, count), DB_BYTEAS(all->replaced, count),
            DB_BYTEAS(all->inner_digest, count), DB_I64S(all->max_fee, count), DB_BYTEAS(all->outer, count));
    if (!all->submits) { /* the first parameters are the same */
        statement.sql = sql_record;
        statement.param_count = 7;
    }
    enum err e = db_execute(db, statement, &rows, detail);
    if (e != ERR_OK)
        return e;
    for (size_t row = 0; row < db_count_at_most(rows, DB_ANY_COUNT); row++) {
        const size_t i = db_ordinal(rows, row, 0, count);
        recorded[i] = true;
        read_recorded(items[i], rows, row);
    }
    /* The leases of the others have ended since fee_bumps_find. The look-up is a statement of its own, whose
     * snapshot has the results. */
    for (size_t i = 0; i < count; i++)
        if (!recorded[i])
            refuse_not_open(items[i], "", false);
    return find_ended(db, items, count, detail);
}
