#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pool/lease.h"

static const char sql_survey[] =
    "SELECT a.public_key, a.state = 'active', p.kind, l.hash, l.sequence FROM fairway.channel_accounts a"
    " LEFT JOIN fairway.leases l ON l.account = a.public_key AND l.settled_at IS NULL"
    " LEFT JOIN fairway.provisioning p ON p.state = 'pending' AND a.public_key = ANY (p.accounts)"
    " WHERE a.state <> 'retired' ORDER BY a.slot";

static enum survey_shipment shipment_of(const char *kind)
{
    if (kind == NULL)
        return SHIPMENT_NONE;
    return text_equal(kind, "merge") ? SHIPMENT_MERGE : SHIPMENT_CREATION;
}

static enum err read_row(const struct db_rows *rows, size_t row, struct surveyed *out, struct detail *detail)
{
    struct bytes lease = db_bytea(rows, row, 3);
    *out = (struct surveyed){.active = db_bool(rows, row, 1),
        .shipment = shipment_of(db_text(rows, row, 2)),
        .leased = lease.data != NULL};
    if (address_decode(db_text(rows, row, 0), &out->key) != ERR_OK ||
        (out->leased && lease.len != sizeof out->lease.bytes))
        return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, row, 0));
    if (out->leased) {
        memcpy(out->lease.bytes, lease.data, lease.len);
        out->lease_sequence = db_i64(rows, row, 4);
    }
    return ERR_OK;
}

enum err survey_take(struct db *db, struct survey *out, struct detail *detail)
{
    *out = (struct survey){0};
    enum err e = grants_wait_out(db, detail);
    if (e != ERR_OK)
        return e;
    const struct db_statement statements[] = {underway_statement(), DB_SQL0(sql_survey)};
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = underway_read(rows[0], &out->underway, detail);
    if (e == ERR_OK)
        out->accounts = NEW_ARRAY(db_count(rows[1]), struct surveyed);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows[1]); row++)
        e = read_row(rows[1], row, &out->accounts[out->count++], detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    if (e != ERR_OK)
        survey_free(out);
    return e;
}

void survey_free(struct survey *survey)
{
    free(survey->accounts);
    *survey = (struct survey){0};
}
