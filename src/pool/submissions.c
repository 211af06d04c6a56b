/* Claims due submissions and writes what the answers to them mean. Nothing is sent here, and no submission
 * ends here: the ledger that ends its lease deletes it. */
#include "pool/submissions.h"

#include "base/invariant.h"
#include "stellar/policy.h"

static const char sql_claim[] =
    "SELECT c.hash, c.bid_hash, c.owner, c.round, c.tip, c.bid_envelope, c.asks, c.earlier"
    " FROM fairway.claim_submissions($1, $2, $3, $4) c";

static struct submission_due read_due(const struct db_rows *rows, size_t row)
{
    struct submission_due due = {.client = db_text(rows, row, 2),
        .round_ledger = db_i64(rows, row, 3),
        .tip = db_i64(rows, row, 4),
        .outer = db_bytea(rows, row, 5),
        .asked_stroops = db_i64(rows, row, 6),
        .earlier = db_bytea(rows, row, 7)};
    db_copy(rows, row, 0, due.lease.bytes, sizeof due.lease.bytes);
    db_copy(rows, row, 1, due.bid.bytes, sizeof due.bid.bytes);
    return due;
}

enum err submissions_claim(struct db *db, int64_t since, int64_t until, struct submission_due out[],
    size_t *count, struct db_rows **rows, struct detail *detail)
{
    enum err e = db_query(db,
        DB_SQL(sql_claim, DB_I64(SUBMISSIONS_CLAIM),
            DB_I64((int64_t)LEASE_SECONDS_MAX * LEDGERS_PER_SECOND_MAX), DB_I64(since), DB_I64(until)),
        rows, detail);
    *count = e == ERR_OK ? db_count_at_most(*rows, SUBMISSIONS_CLAIM) : 0;
    for (size_t row = 0; row < *count; row++)
        out[row] = read_due(*rows, row);
    return e;
}

static const char sql_answers[] =
    "SELECT fairway.answer_submission(a.lease, a.bid, nullif(a.result, ''), nullif(a.asks, 0))"
    " FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::int8[]) AS a (lease, bid, result, asks)";

enum err submissions_answer(
    struct db *db, const struct submission_answer answers[], size_t count, struct detail *detail)
{
    struct bytes leases[SUBMISSIONS_CLAIM], bids[SUBMISSIONS_CLAIM], results[SUBMISSIONS_CLAIM];
    int64_t asked[SUBMISSIONS_CLAIM];
    INVARIANT(count <= SUBMISSIONS_CLAIM);
    for (size_t i = 0; i < count; i++) {
        leases[i] = BYTES_OF(answers[i].lease.bytes);
        bids[i] = BYTES_OF(answers[i].bid.bytes);
        results[i] = answers[i].result;
        asked[i] = answers[i].asked_stroops;
    }
    return db_query(db,
        DB_SQL(sql_answers, DB_BYTEAS(leases, count), DB_BYTEAS(bids, count), DB_BYTEAS(results, count),
            DB_I64S(asked, count)),
        NULL, detail);
}
