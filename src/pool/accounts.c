/* Calls the functions that store, pick, quarantine, retire and change accounts. None of them ends a lease. */
#include "pool/accounts.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/provisioning.h"

/* ---- for provisioning */

/* Keys as SQL parameters. */
struct key_columns {
    char addresses[KEYD_IMPORT_BATCH][ADDRESS_SIZE];
    const char *texts[KEYD_IMPORT_BATCH], *key_ids[KEYD_IMPORT_BATCH];
    struct bytes boxes[KEYD_IMPORT_BATCH];
};
_Static_assert(PROVISIONING_ACCOUNTS_MAX <= KEYD_IMPORT_BATCH, "the keys of a creation fit too");

static const char sql_store[] = "SELECT fairway.store_accounts($1, $2, $3, $4, $5)";

enum err accounts_store(struct db *db, const struct generated_key keys[], const int64_t sequences[],
    size_t count, uint32_t ledger, struct detail *detail)
{
    struct key_columns columns;
    if (count > KEYD_IMPORT_BATCH)
        return detail_set(detail, ERR_INTERNAL, "%zu keys are too many for a batch", count);
    for (size_t i = 0; i < count; i++) {
        address_encode(&keys[i].public_key, columns.addresses[i]);
        columns.texts[i] = columns.addresses[i];
        columns.key_ids[i] = keys[i].sealed.key_id;
        columns.boxes[i] = BYTES_OF(keys[i].sealed.box);
    }
    const bool created = sequences != NULL;
    const struct db_statement statements[] = {
        DB_SQL(sql_store, DB_TEXTS(columns.texts, count), DB_BYTEAS(columns.boxes, count),
            DB_TEXTS(columns.key_ids, count), created ? DB_I64S(sequences, count) : DB_NONE,
            created ? DB_I64(ledger) : DB_NONE),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    AUTO_ROWS_OF(rows, statements);
    enum err e = db_run(db, statements, created ? 2 : 1, rows, detail);
    if (e == ERR_OK && !db_bool(rows[0], 0, 0))
        e = detail_set(detail, ERR_NOT_YET,
            "no ledger is ingested yet, or grants are stopped, or Stellar RPC, at ledger %" PRIu32
            ", is behind the last one",
            ledger);
    return e;
}

static const char sql_creating[] =
    "SELECT " ACCOUNT_SEED_COLUMNS " FROM fairway.channel_accounts a"
    " WHERE a.state = 'creating' AND " PROVISIONING_ID " IS NULL ORDER BY a.slot LIMIT $1";

/* Without a lease, nothing that the account signed can still be included, unless a lease was forgotten. */
static const char sql_merging[] = "SELECT " ACCOUNT_SEED_COLUMNS " FROM fairway.channel_accounts a"
                                  " WHERE a.state = 'retiring' AND a.lease_hash IS NULL AND " PROVISIONING_ID
                                  " IS NULL ORDER BY a.slot LIMIT $1";

enum err accounts_pick(struct db *db, enum provisioning_kind kind, size_t limit, struct account_batch *out,
    struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const char *sql = kind == PROVISIONING_CREATION ? sql_creating : sql_merging;
    out->count = 0;
    if (limit > PROVISIONING_ACCOUNTS_MAX)
        limit = PROVISIONING_ACCOUNTS_MAX;
    enum err e = db_query(db, DB_SQL(sql, DB_I64((int64_t)limit)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, limit); row++, out->count++)
        e = account_read_seed(rows, row, 0, &out->keys[out->count], &out->sealed[out->count], detail);
    return e;
}

static const char sql_claim[] = "SELECT " ACCOUNT_SOURCE_COLUMNS " FROM fairway.claim_accounts(1, '{}') a";

static const char sql_claim_retiring[] =
    "SELECT " ACCOUNT_SOURCE_COLUMNS " FROM fairway.claim_retiring($1) a";

enum err accounts_claim(struct db *db, enum provisioning_kind kind, const struct account_batch *batch,
    struct account_source *out, bool *found, struct detail *detail)
{
    struct account_addresses addresses CLEANUP(account_addresses_free) =
        account_addresses_of(batch->keys, batch->count);
    const struct db_param members = DB_TEXTS(addresses.texts, batch->count);
    const struct db_statement active = DB_SQL0(sql_claim), retiring = {sql_claim_retiring, &members, 1};
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, kind == PROVISIONING_MERGE ? retiring : active, &rows, detail);
    if (e == ERR_OK && db_count(rows) == 0 && kind == PROVISIONING_MERGE) {
        db_rows_free(rows);
        rows = NULL;
        e = db_query(db, active, &rows, detail);
    }
    *found = e == ERR_OK && db_count(rows) == 1;
    return *found ? account_read_source(rows, 0, out, detail) : e;
}

static const char sql_lock_batch[] =
    "SELECT l.state = $2 AND l.lease_hash IS NULL FROM fairway.lock_accounts($1) l";

enum err accounts_lock(
    struct db *db, enum provisioning_kind kind, const struct account_batch *batch, struct detail *detail)
{
    struct account_addresses addresses CLEANUP(account_addresses_free) =
        account_addresses_of(batch->keys, batch->count);
    const enum account_state state = kind == PROVISIONING_CREATION ? ACCOUNT_CREATING : ACCOUNT_RETIRING;
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db,
        DB_SQL(sql_lock_batch, DB_TEXTS(addresses.texts, batch->count), DB_TEXT(account_state_name(state))),
        &rows, detail);
    if (e != ERR_OK)
        return e;
    bool all = db_count(rows) == batch->count;
    for (size_t row = 0; all && row < batch->count; row++)
        all = db_bool(rows, row, 0);
    return all ? ERR_OK : detail_set(detail, ERR_NOT_YET, "an account of the batch was changed meanwhile");
}

static const char sql_retire[] = "SELECT fairway.retire_accounts($1)";

enum err accounts_retire(struct db *db, int64_t count, struct detail *detail)
{
    return db_query(db, DB_SQL(sql_retire, DB_I64(count)), NULL, detail);
}

/* ---- for provisioning and grants */

static const char sql_quarantine[] = "SELECT fairway.quarantine_accounts($1, $2)";

enum err accounts_quarantine(struct db *db, const struct public_key accounts[], size_t count,
    const char *reason, struct detail *detail)
{
    struct account_addresses addresses CLEANUP(account_addresses_free) =
        account_addresses_of(accounts, count);
    for (size_t i = 0; i < count; i++)
        log_error("channel account quarantined", "account=%s reason=\"%s\"", addresses.texts[i], reason);
    return db_query(
        db, DB_SQL(sql_quarantine, DB_TEXTS(addresses.texts, count), DB_TEXT(reason)), NULL, detail);
}

/* ---- for a change of one account that no ledger makes */

static const char sql_lock_cursor[] =
    "SELECT c.sequence, c.held_until <> 0 OR NOT c.same_database FROM fairway.lock_cursor() c";
static const char sql_lock[] =
    "SELECT l.state, l.lease_hash IS NOT NULL, coalesce(l.sequence_ledger, 0), coalesce(l.sequence, 0),"
    " (SELECT a.quarantine_reason = '" ACCOUNT_MOVED "' FROM fairway.newest_account($1) a) IS TRUE"
    " FROM fairway.lock_accounts(ARRAY[$1]) l";
/* A statement of its own: a transaction is stored under the same lock. */
static const char sql_includes[] = "SELECT EXISTS (SELECT FROM fairway.provisioning p"
                                   " WHERE p.state = 'pending' AND $1 = ANY (p.accounts))";

enum err account_lock(
    struct db *db, const struct public_key *account, struct account_locked *out, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    const struct db_statement statements[] = {
        DB_SQL0(sql_lock_cursor), DB_SQL(sql_lock, DB_TEXT(address)), DB_SQL(sql_includes, DB_TEXT(address))};
    AUTO_ROWS_OF(rows, statements);
    *out = (struct account_locked){0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows[1]) == 0)
        return detail_set(detail, ERR_REFUSED, "refused: not an account of this pool");
    if (account_state_parse(db_text(rows[1], 0, 0), &out->state) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "unknown state \"%s\"", db_text(rows[1], 0, 0));
    out->leased = db_bool(rows[1], 0, 1);
    out->sequence_ledger = (uint32_t)db_i64(rows[1], 0, 2);
    out->sequence = db_i64(rows[1], 0, 3);
    out->moved = db_bool(rows[1], 0, 4);
    out->pending = db_bool(rows[2], 0, 0);
    if (db_count(rows[0]) == 0)
        return ERR_OK;
    out->cursor = (uint32_t)db_i64(rows[0], 0, 0);
    out->grants_on_hold = db_bool(rows[0], 0, 1);
    return ERR_OK;
}

static const char sql_change_state[] = "SELECT fairway.change_account($1, $2, $3, $4)";

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
