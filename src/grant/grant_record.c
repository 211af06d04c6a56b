/* The second half of a grant transaction: everything that it writes, COMMIT, and what became of a COMMIT
 * whose reply was lost. A lost COMMIT is never guessed at. */
#include "grant_record.h"

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pool/accounts.h"

/* Returns when they were granted. ERR_SERIALIZATION of both: a limit, or a claim, was free when the batch
 * began, and is not. When it runs again, it refuses what is too much. */
static const char sql_record[] = "SELECT fairway.record_leases($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
                                 " $12, $13, $14, $15, $16, $17, $18, $19)";

static const char sql_record_bids[] = "SELECT fairway.record_first_bids($1, $2, $3, $4, $5, $6, $7, $8, $9)";

static const char sql_waiting[] = "SELECT fairway.report_waiting($1, $2, $3)";

/* The transaction id alone is no proof: after a failover it may be that of another transaction. */
static const char sql_outcome[] =
    "SELECT pg_xact_status($1::text::xid8),"
    " (SELECT (extract(epoch FROM f.granted_at) * 1000000)::int8 FROM fairway.find_leases($2) f LIMIT 1)";

/* The lost COMMIT took effect, but it may not have waited for the standby. A durable commit now waits for it.
 */
static enum err confirm(struct db *db, struct detail *detail)
{
    enum err e = db_begin(db, detail);
    if (e == ERR_OK)
        e = db_commit_durably(db, detail);
    db_rollback(db);
    return e == ERR_OK || e == ERR_NOT_REPLICATED ? e : ERR_OUTCOME_UNKNOWN;
}

static void set_granted(const struct grant_record *record, const struct db_rows *rows, int column)
{
    for (size_t i = 0; i < record->count; i++)
        record->items[i].grant->lease.granted_us = db_i64(rows, 0, column);
}

/*
 * The reply to COMMIT was lost, or an error was returned instead of it: only the database knows the outcome.
 * The status is "in progress" while the old session may still run the COMMIT. It is NULL when the server does
 * not remember the transaction: it is another server, or it was long ago. "committed" while no lease is
 * visible means that the reading was too early, or that it is another server. When one is visible, all are.
 * Only a status that proves the outcome ends the loop.
 */
static enum err find_outcome(
    struct db *db, const struct grant_record *record, const struct bytes hashes[], struct detail *detail)
{
    const long long transaction_id = (long long)record->transaction_id;
    AUTO_FREE char *id = mem_format("%lld", transaction_id);
    int64_t deadline_ms = db_deadline_ms(db) != 0 ? db_deadline_ms(db) : clock_ms() + OUTCOME_WAIT_MS;
    do {
        AUTO_ROWS rows = NULL;
        if (db_query(db, DB_SQL(sql_outcome, DB_TEXT(id), DB_BYTEAS(hashes, record->count)), &rows, detail) ==
            ERR_OK) {
            const char *status = db_is_null(rows, 0, 0) ? "" : db_text(rows, 0, 0);
            if (status[0] == 'c' && !db_is_null(rows, 0, 1)) {
                set_granted(record, rows, 1);
                return confirm(db, detail);
            }
            if (status[0] == 'a')
                return detail_set(
                    detail, ERR_SERIALIZATION, "the connection was lost before COMMIT took effect");
        }
        clock_sleep_ms(50);
    } while (clock_ms() < deadline_ms);
    return detail_set(
        detail, ERR_OUTCOME_UNKNOWN, "the reply to COMMIT was lost and its outcome could not be found out");
}

/* The columns of sql_record, one array each. */
struct columns {
    struct bytes hash[GRANT_BATCH_MAX], envelope[GRANT_BATCH_MAX], digest[GRANT_BATCH_MAX],
        call[GRANT_BATCH_MAX];
    struct hash call_digests[GRANT_BATCH_MAX];
    /* Of bids; NULL and 0: the lease has none. */
    struct hash inner_digests[GRANT_BATCH_MAX];
    struct bytes bid_hash[GRANT_BATCH_MAX], bid_envelope[GRANT_BATCH_MAX], inner_digest[GRANT_BATCH_MAX];
    int64_t bid[GRANT_BATCH_MAX], max_fee[GRANT_BATCH_MAX], stroops_max[GRANT_BATCH_MAX];
    bool any_bid, any_max_ledger, any_limit, any_key, any_reference, any_call; /* some item has it */
    char address[GRANT_BATCH_MAX][ADDRESS_SIZE];
    const char *account[GRANT_BATCH_MAX], *client[GRANT_BATCH_MAX], *request_id[GRANT_BATCH_MAX],
        *key[GRANT_BATCH_MAX], *reference[GRANT_BATCH_MAX], *contract[GRANT_BATCH_MAX];
    int64_t sequence[GRANT_BATCH_MAX], sequence_ledger[GRANT_BATCH_MAX], max_time[GRANT_BATCH_MAX],
        max_ledger[GRANT_BATCH_MAX], open_max[GRANT_BATCH_MAX], contract_max[GRANT_BATCH_MAX];
};

static void fill(struct columns *columns, const struct grant_record_item items[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lease *lease = &items[i].grant->lease;
        const struct lease_request *request = items[i].grant->request;
        address_encode(&lease->account, columns->address[i]);
        columns->account[i] = columns->address[i];
        columns->hash[i] = BYTES_OF(lease->hash.bytes);
        columns->sequence[i] = lease->sequence;
        columns->sequence_ledger[i] = lease->sequence_ledger;
        columns->client[i] = request->client;
        columns->envelope[i] = buf_bytes(&lease->envelope);
        columns->max_time[i] = (int64_t)lease->max_time_s;
        columns->max_ledger[i] = request->envelope.preconditions.max_ledger;
        columns->any_max_ledger |= columns->max_ledger[i] != 0;
        columns->open_max[i] = items[i].open_max;
        columns->contract_max[i] = items[i].contract_max;
        columns->any_limit |= items[i].open_max > 0 || items[i].contract_max > 0;
        columns->contract[i] = items[i].contract_max > 0 ? request->contract : NULL;
        columns->request_id[i] = request->request_id;
        columns->reference[i] = request->reference[0] == '\0' ? NULL : request->reference;
        columns->any_reference |= columns->reference[i] != NULL;
        if (request->idempotency_key[0] != '\0') { /* else both remain NULL */
            columns->any_key = true;
            columns->key[i] = request->idempotency_key;
            columns->digest[i] = BYTES_OF(request->digest.bytes);
        }
        if (request->authorization.count > 0) {
            columns->any_call = true;
            columns->call_digests[i] = authorization_digest(&request->authorization, NULL);
            columns->call[i] = BYTES_OF(columns->call_digests[i].bytes);
        }
        if (lease->bid_stroops != 0) {
            columns->any_bid = true;
            columns->bid_hash[i] = BYTES_OF(lease->bid_hash.bytes);
            columns->bid_envelope[i] = buf_bytes(&lease->bid);
            columns->inner_digests[i] = sha256(buf_bytes(&lease->envelope));
            columns->inner_digest[i] = BYTES_OF(columns->inner_digests[i].bytes);
            columns->bid[i] = lease->bid_stroops;
            columns->max_fee[i] = lease->max_fee_stroops;
            columns->stroops_max[i] = request->limits.most[LIMIT_STROOPS_PER_DAY];
        }
    }
}

#define REPORT_PARAMS 3

/* Whether the batch reports how many requests are left. */
static bool report(const struct grant_batch *batch, size_t taken,
    struct db_param params[static REPORT_PARAMS], struct db_statement *statement)
{
    params[0] = DB_I64(batch->replica);
    params[1] = DB_I64((int64_t)batch->left);
    params[2] = DB_I64((int64_t)taken);
    *statement = (struct db_statement){sql_waiting, params, REPORT_PARAMS};
    return batch->mode == GRANT_CLAIM && (batch->reports || batch->left > 0);
}

enum err grant_record_waiting(struct db *db, const struct grant_batch *batch, struct detail *detail)
{
    struct db_param params[REPORT_PARAMS];
    struct db_statement statement;
    if (!report(batch, 0, params, &statement))
        return ERR_OK;
    enum err e = db_run_commit(db, &statement, 1, NULL, detail);
    return e == ERR_NOT_REPLICATED ? ERR_OK : e == ERR_OUTCOME_UNKNOWN ? ERR_DATABASE_UNAVAILABLE : e;
}

/* Sends COMMIT so early that its outcome can still be looked up before the connection's deadline. */
static enum err commit_in_time(struct db *db, const struct db_statement statements[], size_t count,
    struct db_rows *rows[], struct detail *detail)
{
    const int64_t deadline_ms = db_deadline_ms(db);
    if (deadline_ms != 0) {
        int share_ms = clock_left_ms(deadline_ms) / 3;
        db_set_deadline(db, deadline_ms - (share_ms < OUTCOME_SHARE_MS ? share_ms : OUTCOME_SHARE_MS));
    }
    enum err e = db_run_commit(db, statements, count, rows, detail);
    db_set_deadline(db, deadline_ms);
    return e;
}

/* NULL in place of an array of which no item of the batch has anything. */
#define GIVEN(what, array) (columns->any_##what ? (array) : DB_NONE)

enum err grant_record_commit(struct db *db, const struct grant_record *record, struct detail *detail)
{
    const size_t count = record->count;
    if (record->fault_count > 0) {
        enum err e =
            accounts_quarantine(db, record->faults, record->fault_count, ACCOUNTS_SEED_BROKEN, detail);
        if (e != ERR_OK)
            return e;
    }
    struct columns *columns AUTO_FREE = NEW(struct columns);
    fill(columns, record->items, count);
    const struct lease_claims *claims = record->claims;
    struct db_statement statements[3] = {
        DB_SQL(sql_record, DB_BYTEAS(columns->hash, count), DB_TEXTS(columns->account, count),
            DB_I64S(columns->sequence, count), DB_I64S(columns->sequence_ledger, count),
            DB_TEXTS(columns->client, count), DB_BYTEAS(columns->envelope, count),
            DB_I64S(columns->max_time, count), GIVEN(max_ledger, DB_I64S(columns->max_ledger, count)),
            DB_TEXTS(columns->request_id, count), GIVEN(key, DB_TEXTS(columns->key, count)),
            GIVEN(key, DB_BYTEAS(columns->digest, count)), GIVEN(limit, DB_I64S(columns->open_max, count)),
            GIVEN(reference, DB_TEXTS(columns->reference, count)),
            GIVEN(call, DB_BYTEAS(columns->call, count)), GIVEN(limit, DB_TEXTS(columns->contract, count)),
            GIVEN(limit, DB_I64S(columns->contract_max, count)),
            GIVEN(call, DB_I64S(claims->places, claims->count)),
            GIVEN(call, DB_BYTEAS(claims->keys, claims->count)),
            GIVEN(call, DB_I64S(claims->expires, claims->count))),
        DB_SQL(sql_record_bids, DB_BYTEAS(columns->bid_hash, count), DB_BYTEAS(columns->hash, count),
            DB_I64S(columns->bid, count), DB_TEXTS(columns->account, count), DB_TEXTS(columns->client, count),
            DB_I64S(columns->stroops_max, count), DB_BYTEAS(columns->inner_digest, count),
            DB_I64S(columns->max_fee, count), DB_BYTEAS(columns->bid_envelope, count))};
    struct db_param waiting[REPORT_PARAMS];
    size_t statement_count = 1 + columns->any_bid;
    statement_count += report(record->batch, count, waiting, &statements[statement_count]);
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = commit_in_time(db, statements, statement_count, rows, detail);
    if (e == ERR_OK)
        set_granted(record, rows[0], 0);
    for (size_t i = 0; i < statement_count; i++)
        db_rows_free(rows[i]);
    if (e == ERR_DATABASE_UNAVAILABLE || e == ERR_OUTCOME_UNKNOWN) {
        struct detail why = {""};
        db_rollback(db);
        enum err outcome = find_outcome(db, record, columns->hash, &why);
        if (e == ERR_DATABASE_UNAVAILABLE && outcome == ERR_SERIALIZATION)
            return e; /* detail has the server's error: the disk is full, a statement took too long */
        return outcome == ERR_OK ? ERR_OK : detail_set(detail, outcome, "%s", why.text);
    }
    return e;
}
