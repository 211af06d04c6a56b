/* The pending transactions of ensure-accounts. Each is stored before it is sent, and only a ledger decides
 * it. */
#include "pool/provisioning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/account_read.h"
#include "stellar/result.h"

static const char *const kinds[] = {[PROVISIONING_CREATION] = "creation", [PROVISIONING_MERGE] = "merge"};

/* ---- for provisioning */

static const char sql_store[] = "SELECT fairway.store_provisioning($1, $2, $3, $4, $5, $6, $7, $8)";

enum err provisioning_store(struct db *db, const struct provisioning_tx *transaction, int64_t sequence_ledger,
    struct bytes envelope, const struct hash *hash, struct detail *detail)
{
    char source[ADDRESS_SIZE];
    struct account_addresses accounts CLEANUP(account_addresses_free) =
        account_addresses_of(transaction->accounts, transaction->account_count);
    address_encode(transaction->bumped ? &transaction->source : &transaction->distribution, source);
    return db_query(db,
        DB_SQL(sql_store, DB_TEXT(kinds[transaction->kind]),
            DB_TEXTS(accounts.texts, transaction->account_count), DB_BYTEA(BYTES_OF(hash->bytes)),
            DB_BYTEA(envelope), DB_TEXT(source), DB_I64(transaction->sequence),
            DB_I64((int64_t)transaction->max_time_s),
            transaction->bumped ? DB_I64(sequence_ledger) : DB_NONE),
        NULL, detail);
}

static const char sql_outcomes[] =
    "SELECT p.state, p.result_code, p.ledger, p.kind, cardinality(p.accounts)::int8"
    " FROM fairway.provisioning p WHERE p.ledger > $1 ORDER BY p.ledger, p.id";

enum err provisioning_read_outcomes(
    struct db *db, uint32_t after_ledger, struct provisioning_outcomes *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct provisioning_outcomes){0};
    enum err e = db_query(db, DB_SQL(sql_outcomes, DB_I64(after_ledger)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, DB_ANY_COUNT); row++) {
        const char *state = db_text(rows, row, 0), *code = db_text(rows, row, 1);
        const bool merge = text_equal(db_text(rows, row, 3), kinds[PROVISIONING_MERGE]);
        if (text_equal(state, "succeeded")) {
            out->succeeded++;
            continue;
        }
        *(text_equal(state, "expired") ? &out->expired : &out->failed) += 1;
        snprintf(out->text, sizeof out->text, "%" PRId64 " accounts not %s: %.30s in ledger %" PRId64,
            db_i64(rows, row, 4), merge ? "merged" : "created", code != NULL ? code : state,
            db_i64(rows, row, 2));
    }
    return e;
}

static const char sql_room[] =
    "SELECT g.max_operations - g.operations + (SELECT coalesce(sum(cardinality(p.accounts) *"
    "   CASE p.kind WHEN 'creation' THEN 3 ELSE 1 END + 1), 0) FROM fairway.provisioning p"
    "   WHERE p.ledger = g.sequence AND p.result_code IS NOT NULL)::int8"
    " FROM fairway.cursor c JOIN fairway.ledgers g USING (sequence) WHERE g.max_operations > 0";

enum err provisioning_read_room(struct db *db, int64_t *operations, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_room), &rows, detail);
    *operations = e == ERR_OK && db_count(rows) == 1 ? db_i64(rows, 0, 0) : 0;
    return e;
}

/* ---- the pending ones */

void provisioning_pending_free(struct provisioning_list *provisioning)
{
    for (size_t i = 0; i < provisioning->count; i++)
        buf_free(&provisioning->items[i].envelope);
    free(provisioning->items);
    *provisioning = (struct provisioning_list){0};
}

/* Each ledger reads them. OFFSET 0: without it, the order would choose the index of all that ever were. */
const char provisioning_sql[] =
    "SELECT p.id, p.kind, p.hash, p.sequence, p.max_time, p.source, cardinality(p.accounts)::int8,"
    " p.source IS DISTINCT FROM (SELECT n.distribution_account FROM fairway.network n), p.envelope"
    " FROM (SELECT * FROM fairway.provisioning i WHERE i.state = 'pending' OFFSET 0) p ORDER BY p.id";

enum err provisioning_read_pending(
    const struct db_rows *rows, struct provisioning_list *out, struct detail *detail)
{
    enum err e = ERR_OK;
    *out = (struct provisioning_list){NEW_ARRAY(db_count(rows), struct provisioning_pending), db_count(rows)};
    for (size_t row = 0; e == ERR_OK && row < out->count; row++) {
        struct provisioning_pending *item = &out->items[row];
        *item = (struct provisioning_pending){.id = db_i64(rows, row, 0),
            .kind = text_equal(db_text(rows, row, 1), kinds[PROVISIONING_MERGE]) ? PROVISIONING_MERGE
                                                                                 : PROVISIONING_CREATION,
            .sequence = db_i64(rows, row, 3),
            .max_time_s = db_i64(rows, row, 4),
            .accounts = (size_t)db_i64(rows, row, 6),
            .bumped = db_bool(rows, row, 7)};
        db_copy(rows, row, 2, item->hash.bytes, sizeof item->hash.bytes);
        buf_add_bytes(&item->envelope, db_bytea(rows, row, 8));
        if (address_decode(db_text(rows, row, 5), &item->source) != ERR_OK)
            e = detail_set(detail, ERR_INTERNAL, "a row of fairway.provisioning is malformed");
    }
    return e;
}

bool provisioning_has(const struct provisioning_list *provisioning, const struct hash *hash)
{
    for (size_t i = 0; i < provisioning->count; i++)
        if (hash_equal(&provisioning->items[i].hash, hash))
            return true;
    return false;
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

static struct provisioning_fate included(int32_t code)
{
    const char *name = result_code_name(code);
    return (struct provisioning_fate){text_equal(name, "txSUCCESS") ? "succeeded" : "failed", name};
}

/* Whether another transaction of the source took the sequence number. */
static bool superseded(const struct provisioning_pending *pending, const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        if (transaction->consumed && transaction->sequence >= pending->sequence &&
            public_key_equal(&transaction->source, &pending->source))
            return true;
    }
    return false;
}

struct provisioning_fate provisioning_judge(
    const struct provisioning_pending *pending, const struct ledger *ledger)
{
    const struct ledger_transaction *found = find(ledger, &pending->hash);
    if (found != NULL)
        return included(found->fee_bump ? found->inner_code : found->code);
    if (superseded(pending, ledger))
        return (struct provisioning_fate){"superseded", NULL};
    if (pending->max_time_s < (int64_t)ledger->close_time_s)
        return (struct provisioning_fate){"expired", NULL};
    return (struct provisioning_fate){NULL, NULL};
}

struct provisioning_fate provisioning_judge_after_gap(const struct provisioning_pending *pending,
    const struct provisioning_snapshot *snapshot, const struct ledger *ledger)
{
    if (snapshot->found_ledger > ledger->sequence)
        return (struct provisioning_fate){NULL, NULL}; /* the ledger that has it will be ingested */
    if (snapshot->found_ledger > 0)
        return included(snapshot->code);
    if (snapshot->source->removed || snapshot->source->sequence >= pending->sequence)
        return snapshot->done ? included(0) : (struct provisioning_fate){"superseded", NULL};
    if (pending->max_time_s < (int64_t)ledger->close_time_s)
        return (struct provisioning_fate){"expired", NULL};
    return (struct provisioning_fate){NULL, NULL};
}
