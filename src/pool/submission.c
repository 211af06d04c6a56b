/* The one transaction of ensure-accounts that is pending. It is stored before it is sent, and only a ledger
 * decides it. */
#include "pool/submission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "stellar/result.h"

static const char *const kinds[] = {[PROVISIONING_CREATION] = "creation", [PROVISIONING_MERGE] = "merge"};

enum err submission_kind_parse(const char *name, enum provisioning_kind *out)
{
    if (!text_equal(name, kinds[PROVISIONING_CREATION]) && !text_equal(name, kinds[PROVISIONING_MERGE]))
        return ERR_INTERNAL;
    *out = text_equal(name, kinds[PROVISIONING_MERGE]) ? PROVISIONING_MERGE : PROVISIONING_CREATION;
    return ERR_OK;
}

static enum err read_hash(const struct db_rows *rows, int column, struct hash *out, struct detail *detail)
{
    struct bytes hash = db_bytea(rows, 0, column);
    if (hash.len != sizeof out->bytes)
        return detail_set(detail, ERR_INTERNAL, "the pending provisioning row is malformed");
    memcpy(out->bytes, hash.data, hash.len);
    return ERR_OK;
}

static const char sql_includes[] = "SELECT EXISTS (SELECT FROM fairway.provisioning p"
                                   " WHERE p.state = 'pending' AND $1 = ANY (p.accounts))";

enum err submission_includes(
    struct db *db, const struct public_key *account, bool *includes, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    AUTO_ROWS rows = NULL;
    address_encode(account, address);
    enum err e = db_query(db, DB_SQL(sql_includes, DB_TEXT(address)), &rows, detail);
    *includes = e == ERR_OK && db_bool(rows, 0, 0);
    return e;
}

/* ---- for provisioning */

static const char sql_store[] = "SELECT fairway.store_submission($1, $2, $3, $4, $5, $6)";

enum err submission_store(struct db *db, const struct provisioning_tx *transaction, struct bytes envelope,
    const struct hash *hash, struct detail *detail)
{
    char addresses[PROVISIONING_ACCOUNTS_MAX][ADDRESS_SIZE];
    const char *texts[PROVISIONING_ACCOUNTS_MAX];
    for (size_t i = 0; i < transaction->account_count; i++) {
        address_encode(&transaction->accounts[i], addresses[i]);
        texts[i] = addresses[i];
    }
    return db_query(db,
        DB_SQL(sql_store, DB_TEXT(kinds[transaction->kind]), DB_TEXTS(texts, transaction->account_count),
            DB_BYTEA(BYTES_OF(hash->bytes)), DB_BYTEA(envelope), DB_I64(transaction->sequence),
            DB_I64((int64_t)transaction->max_time_s)),
        NULL, detail);
}

void signed_submission_wipe(struct signed_submission *submission)
{
    buf_free(&submission->envelope);
}

static const char sql_signed[] =
    "SELECT p.id, p.kind, p.hash, p.envelope FROM fairway.provisioning p WHERE p.state = 'pending'";

enum err submission_read_signed(
    struct db *db, bool *any, struct signed_submission *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *any = false;
    enum err e = db_query(db, DB_SQL0(sql_signed), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    if ((e = submission_kind_parse(db_text(rows, 0, 1), &out->kind)) != ERR_OK ||
        (e = read_hash(rows, 2, &out->hash, detail)) != ERR_OK)
        return e;
    out->id = db_i64(rows, 0, 0);
    buf_clear(&out->envelope);
    buf_add_bytes(&out->envelope, db_bytea(rows, 0, 3));
    *any = true;
    return ERR_OK;
}

static const char sql_outcome[] =
    "SELECT p.id, p.kind, cardinality(p.accounts)::int8, p.state, p.result_code, p.ledger"
    " FROM fairway.provisioning p ORDER BY p.id DESC LIMIT 1";

enum err submission_read_outcome(struct db *db, struct submission_outcome *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct submission_outcome){0};
    enum err e = db_query(db, DB_SQL0(sql_outcome), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    const char *state = db_text(rows, 0, 3), *code = db_text(rows, 0, 4);
    if ((e = submission_kind_parse(db_text(rows, 0, 1), &out->kind)) != ERR_OK)
        return e;
    out->any = true;
    out->id = db_i64(rows, 0, 0);
    out->accounts = (size_t)db_i64(rows, 0, 2);
    out->pending = text_equal(state, "pending");
    out->succeeded = text_equal(state, "succeeded");
    if (!out->pending)
        snprintf(out->text, sizeof out->text, "%.30s in ledger %" PRId64, code != NULL ? code : state,
            db_i64(rows, 0, 5));
    return ERR_OK;
}

/* ---- for ingestion */

static const char sql_pending[] = "SELECT p.id, p.hash, p.sequence, p.max_time, n.distribution_account"
                                  " FROM fairway.provisioning p, fairway.network n WHERE p.state = 'pending'";

struct db_statement submission_statement(void)
{
    return DB_SQL0(sql_pending);
}

enum err submission_read(const struct db_rows *rows, struct submission *out, struct detail *detail)
{
    *out = (struct submission){.any = db_count(rows) == 1};
    if (!out->any)
        return ERR_OK;
    enum err e = read_hash(rows, 1, &out->hash, detail);
    if (e == ERR_OK && address_decode(db_text(rows, 0, 4), &out->source) != ERR_OK)
        return detail_set(
            detail, ERR_INTERNAL, "the distribution account in the database is not a valid address");
    out->id = db_i64(rows, 0, 0);
    out->sequence = db_i64(rows, 0, 2);
    out->max_time_s = db_i64(rows, 0, 3);
    return e;
}

/* Anyone may wrap a plain transaction in a fee bump, so an inner hash matches too. */
static const struct ledger_transaction *find(const struct ledger *ledger, const struct hash *hash)
{
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        if (hash_equal(ledger_inner_hash(transaction), hash))
            return transaction;
    }
    return NULL;
}

static struct submission_fate included(int32_t code)
{
    const char *name = result_code_name(code);
    return (struct submission_fate){text_equal(name, "txSUCCESS") ? "succeeded" : "failed", name};
}

/* Whether another transaction of the distribution account took the sequence number. */
static bool superseded(const struct submission *submission, const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        if (transaction->consumed && transaction->sequence >= submission->sequence &&
            public_key_equal(&transaction->source, &submission->source))
            return true;
    }
    return false;
}

struct submission_fate submission_judge(const struct submission *submission, const struct ledger *ledger)
{
    const struct ledger_transaction *found = find(ledger, &submission->hash);
    if (found != NULL)
        return included(found->fee_bump ? found->inner_code : found->code);
    if (superseded(submission, ledger))
        return (struct submission_fate){"superseded", NULL};
    if (submission->max_time_s < (int64_t)ledger->close_time_s)
        return (struct submission_fate){"expired", NULL};
    return (struct submission_fate){NULL, NULL};
}

struct submission_fate submission_judge_after_gap(const struct submission *submission,
    const struct submission_snapshot *snapshot, const struct ledger *ledger)
{
    if (snapshot->found_ledger > ledger->sequence)
        return (struct submission_fate){NULL, NULL}; /* the ledger that has it will be ingested */
    if (snapshot->found_ledger > 0)
        return included(snapshot->code);
    if (snapshot->source->removed || snapshot->source->sequence >= submission->sequence)
        return snapshot->done ? included(0) : (struct submission_fate){"superseded", NULL};
    if (submission->max_time_s < (int64_t)ledger->close_time_s)
        return (struct submission_fate){"expired", NULL};
    return (struct submission_fate){NULL, NULL};
}
