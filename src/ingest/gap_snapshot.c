#include "gap_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char sql_snapshot[] =
    "SELECT a.public_key, a.state = 'active', " SUBMISSION_KIND ", a.lease_hash, a.lease_sequence"
    " FROM fairway.pool_accounts a ORDER BY a.slot";

static enum err read_row(
    const struct db_rows *rows, size_t row, struct gap_account *out, struct detail *detail)
{
    struct bytes lease = db_bytea(rows, row, 3);
    *out = (struct gap_account){.active = db_bool(rows, row, 1),
        .submitted = !db_is_null(rows, row, 2),
        .leased = lease.data != NULL};
    if (address_decode(db_text(rows, row, 0), &out->key) != ERR_OK ||
        (out->submitted && submission_kind_parse(db_text(rows, row, 2), &out->kind) != ERR_OK) ||
        (out->leased && lease.len != sizeof out->lease.bytes))
        return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, row, 0));
    if (out->leased) {
        memcpy(out->lease.bytes, lease.data, lease.len);
        out->lease_sequence = db_i64(rows, row, 4);
    }
    return ERR_OK;
}

enum err gap_snapshot_read(struct db *db, struct gap_snapshot *out, struct detail *detail)
{
    const struct db_statement statements[] = {submission_statement(), DB_SQL0(sql_snapshot)};
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    *out = (struct gap_snapshot){0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = submission_read(rows[0], &out->submission, detail);
    if (e == ERR_OK)
        out->accounts = NEW_ARRAY(db_count(rows[1]), struct gap_account);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows[1]); row++)
        e = read_row(rows[1], row, &out->accounts[out->count++], detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    return e;
}

void gap_snapshot_free(struct gap_snapshot *snapshot)
{
    free(snapshot->accounts);
}
