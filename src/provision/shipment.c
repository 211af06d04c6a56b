#include "shipment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static const char sql_store[] =
    "INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, sequence, max_time)"
    " VALUES ($1, $2, $3, $4, $5, $6)";

static const char sql_read[] =
    "SELECT p.id, p.kind, p.hash, p.envelope FROM fairway.provisioning p WHERE p.state = 'pending'";

static const char sql_fate[] =
    "SELECT p.id, p.kind, cardinality(p.accounts)::int8, p.state, p.result_code, p.ledger"
    " FROM fairway.provisioning p ORDER BY p.id DESC LIMIT 1";

static const char *const kinds[] = {[TEMPLATE_CREATION] = "creation", [TEMPLATE_MERGE] = "merge"};

static enum template_kind kind_of(const char *name)
{
    return text_equal(name, kinds[TEMPLATE_MERGE]) ? TEMPLATE_MERGE : TEMPLATE_CREATION;
}

void shipment_wipe(struct shipment *shipment)
{
    buf_free(&shipment->envelope);
}

enum err shipment_store(struct db *db, const struct template *template, struct bytes envelope,
    const struct hash *hash, struct detail *detail)
{
    char addresses[TEMPLATE_ACCOUNTS_MAX][ADDRESS_SIZE];
    const char *texts[TEMPLATE_ACCOUNTS_MAX];
    for (size_t i = 0; i < template->account_count; i++) {
        address_encode(&template->accounts[i], addresses[i]);
        texts[i] = addresses[i];
    }
    return db_query(db,
        DB_SQL(sql_store, DB_TEXT(kinds[template->kind]), DB_TEXTS(texts, template->account_count),
            DB_BYTEA(BYTES_OF(hash->bytes)), DB_BYTEA(envelope), DB_I64(template->sequence),
            DB_I64((int64_t) template->max_time_s)),
        NULL, detail);
}

static enum err find(struct db *db, bool *any, struct shipment *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_read), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    struct bytes hash = db_bytea(rows, 0, 2);
    if (hash.len != sizeof out->hash.bytes)
        return detail_set(detail, ERR_INTERNAL, "the pending provisioning row is malformed");
    memcpy(out->hash.bytes, hash.data, hash.len);
    out->id = db_i64(rows, 0, 0);
    out->kind = kind_of(db_text(rows, 0, 1));
    buf_clear(&out->envelope);
    buf_add_bytes(&out->envelope, db_bytea(rows, 0, 3));
    *any = true;
    return ERR_OK;
}

/* The COMMIT that stored it may have been seen without having waited for the standby, as may those that
 * stored its keys: one behind them that has waited covers them all. */
enum err shipment_read(struct session *session, bool *any, struct shipment *out, struct detail *detail)
{
    bool found = false;
    *any = false;
    enum err e = session_begin(session, detail);
    if (e == ERR_OK)
        e = find(session->db, &found, out, detail);
    if (e == ERR_OK)
        e = db_commit_durably(session->db, detail);
    db_rollback(session->db);
    *any = found && e == ERR_OK;
    return e;
}

enum err shipment_fate(struct db *db, struct shipment_fate *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct shipment_fate){0};
    enum err e = db_query(db, DB_SQL0(sql_fate), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    const char *state = db_text(rows, 0, 3), *code = db_text(rows, 0, 4);
    out->any = true;
    out->id = db_i64(rows, 0, 0);
    out->kind = kind_of(db_text(rows, 0, 1));
    out->accounts = (size_t)db_i64(rows, 0, 2);
    out->pending = text_equal(state, "pending");
    out->succeeded = text_equal(state, "succeeded");
    if (!out->pending)
        snprintf(out->words, sizeof out->words, "%.30s in ledger %" PRId64, code != NULL ? code : state,
            db_i64(rows, 0, 5));
    return ERR_OK;
}
