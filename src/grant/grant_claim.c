/* The first half of a grant transaction: everything that it reads and locks, in one round trip. Nothing here
 * decides about a request. */
#include "grant_claim.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

const char grant_terms_sql[] = "SELECT " GRANTS_COLUMNS ", pg_current_xact_id()::text::int8,"
                               " " FUNDS_SPENDABLE GRANTS_FROM;
enum {
    TERMS_TRANSACTION = GRANTS_COLUMN_COUNT,
    TERMS_SPENDABLE
};

/* When no account is claimed, one row with NULLs in place of an account has the counts. */
static const char sql_claim[] = "SELECT " ACCOUNT_SOURCE_COLUMNS ", s.idle, s.share"
                                " FROM fairway.share_of_idle($3, $4, $2) s"
                                " LEFT JOIN LATERAL fairway.claim_accounts(least(s.share, $1), $2) a ON true";
enum {
    CLAIM_IDLE = ACCOUNT_SOURCE_COLUMN_COUNT,
    CLAIM_SHARE
};

/* By place, from 1. */
static const char sql_members[] =
    "SELECT n.place FROM unnest($1::text[]) WITH ORDINALITY n (address, place)"
    " WHERE (SELECT a.public_key FROM fairway.newest_account(n.address) a) IS NOT NULL";

static enum err read_accounts(const struct db_rows *rows, struct grant_claim *claim, struct detail *detail)
{
    const size_t count = db_is_null(rows, 0, 0) ? 0 : db_count_at_most(rows, claim->wanted);
    enum err e = ERR_OK;
    for (; e == ERR_OK && claim->claimed < count; claim->claimed++)
        e = account_read_source(rows, claim->claimed, &claim->accounts[claim->claimed], detail);
    claim->batch->claimed = claim->claimed;
    claim->batch->idle = db_i64(rows, 0, CLAIM_IDLE);
    claim->batch->share = db_i64(rows, 0, CLAIM_SHARE);
    return e;
}

static void read_members(const struct db_rows *rows, struct grant_claim *claim)
{
    memset(claim->members, 0, claim->named_count * sizeof claim->members[0]);
    for (size_t row = 0; row < db_count_at_most(rows, claim->named_count); row++)
        claim->members[db_ordinal(rows, row, 0, claim->named_count)] = true;
}

enum {
    ENTER,
    TERMS,
    MEMBERS,
    KEYS,
    CLAIMS = KEYS + IDEMPOTENCY_STATEMENTS,
    USAGE,
    BIDS,
    CLAIM,
    STEPS
};

/* Runs all statements in one round trip; a batch omits those that it does not need. */
static enum err run_statements(
    struct db *db, const struct grant_claim *claim, struct db_rows *results[STEPS], struct detail *detail)
{
    const struct grant_batch *batch = claim->batch;
    const struct db_param addresses = DB_TEXTS(claim->named, claim->named_count),
                          claim_params[] = {DB_I64((int64_t)claim->wanted),
                              DB_TEXTS(claim->settings->key_ids, claim->settings->key_id_count),
                              DB_I64(batch->replica), DB_I64((int64_t)(claim->wanted + batch->queued))};
    struct db_statement steps[STEPS] = {[ENTER] = DB_SQL0(grants_enter_sql),
        [TERMS] = DB_SQL0(grant_terms_sql),
        [MEMBERS] = {sql_members, &addresses, 1}};
    idempotency_statements(claim->keys, &steps[KEYS]);
    steps[CLAIMS] = lease_claims_statement(claim->claims);
    steps[USAGE] = usage_statement(claim->usage);
    steps[BIDS] = lease_bids_statement(claim->bids);
    if (batch->mode == GRANT_CLAIM && claim->wanted > 0)
        steps[CLAIM] = (struct db_statement){sql_claim, claim_params, ARRAY_LEN(claim_params)};

    struct db_statement statements[1 + STEPS] = {DB_BEGIN};
    struct db_rows *rows[1 + STEPS] = {0};
    size_t count = 1;
    for (size_t i = 0; i < STEPS; i++)
        if (steps[i].sql != NULL)
            statements[count++] = steps[i];
    enum err e = db_run(db, statements, count, rows, detail);
    db_rows_free(rows[0]);
    count = 1;
    for (size_t i = 0; i < STEPS; i++)
        results[i] = steps[i].sql != NULL ? rows[count++] : NULL;
    return e;
}

/* seen: before the rows were read. */
static enum err read_results(
    struct grant_claim *claim, struct db_rows *const results[STEPS], uint32_t seen, struct detail *detail)
{
    struct grant_terms *terms = &claim->terms;
    enum err e =
        grants_read(results[ENTER], results[TERMS], claim->settings->ledger_ms, seen, &terms->time, detail);
    if (e != ERR_OK)
        return e;
    terms->transaction_id = db_i64(results[TERMS], 0, TERMS_TRANSACTION);
    terms->spendable_stroops = db_i64(results[TERMS], 0, TERMS_SPENDABLE);
    read_members(results[MEMBERS], claim);
    if ((e = idempotency_read(claim->keys, &results[KEYS], detail)) != ERR_OK)
        return e;
    if (results[CLAIMS] != NULL)
        lease_claims_read(claim->claims, results[CLAIMS]);
    if (results[USAGE] != NULL)
        usage_read(claim->usage, results[USAGE]);
    if (results[BIDS] != NULL)
        lease_bids_read(claim->bids, results[BIDS]);
    return results[CLAIM] == NULL ? ERR_OK : read_accounts(results[CLAIM], claim, detail);
}

enum err grant_claim_begin(struct db *db, struct grant_claim *claim, struct detail *detail)
{
    const _Atomic uint32_t *const seen_ledger = claim->settings->seen_ledger;
    const uint32_t seen = seen_ledger != NULL ? atomic_load(seen_ledger) : 0;
    struct db_rows *results[STEPS] = {0};
    claim->claimed = 0;
    enum err e = run_statements(db, claim, results, detail);
    if (e == ERR_OK)
        e = read_results(claim, results, seen, detail);
    for (size_t i = 0; i < STEPS; i++)
        db_rows_free(results[i]);
    if (e != ERR_OK)
        db_rollback(db);
    return e;
}
