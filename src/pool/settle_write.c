#include "settle_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pool/accounts.h"

static const char sql_release[] =
    "UPDATE fairway.channel_accounts a SET lease_hash = NULL, locked_at = NULL, locked_until = NULL"
    " WHERE a.public_key = ANY ($1::text[])";

/* One update a row: the state after the ledger, and the end of its lease if it had one. Ledger 0: still
 * unknown. */
static const char sql_mirror[] =
    "UPDATE fairway.channel_accounts a SET state = n.state,"
    " sequence = CASE n.sequence_ledger WHEN 0 THEN NULL ELSE n.sequence END,"
    " sequence_ledger = nullif(n.sequence_ledger, 0),"
    " slot = CASE n.state WHEN 'retired' THEN NULL ELSE a.slot END,"
    " quarantine_reason = CASE n.state WHEN 'quarantined' THEN coalesce(n.reason, a.quarantine_reason) END,"
    " lease_hash = CASE WHEN n.released THEN NULL ELSE a.lease_hash END,"
    " locked_at = CASE WHEN n.released THEN NULL ELSE a.locked_at END,"
    " locked_until = CASE WHEN n.released THEN NULL ELSE a.locked_until END"
    " FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::bool[])"
    " AS n (public_key, state, sequence, sequence_ledger, reason, released)"
    " WHERE a.public_key = n.public_key";

/* The columns of sql_mirror. */
struct settle_columns {
    const char **accounts, **states, **reasons;
    int64_t *sequences, *ledgers;
    bool *released;
    size_t count;
};

static void mirror_free(struct settle_columns *mirror)
{
    free(mirror->accounts);
    free(mirror->states);
    free(mirror->reasons);
    free(mirror->sequences);
    free(mirror->ledgers);
    free(mirror->released);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const char *const accounts[], size_t count, const char *account)
{
    return bsearch(&account, accounts, count, sizeof accounts[0], compare_texts) != NULL;
}

static struct settle_columns mirror_of(
    const struct touched touched[], size_t count, const struct ended *ended)
{
    struct settle_columns mirror = {NEW_ARRAY(count, const char *), NEW_ARRAY(count, const char *),
        NEW_ARRAY(count, const char *), NEW_ARRAY(count, int64_t), NEW_ARRAY(count, int64_t),
        NEW_ARRAY(count, bool), 0};
    for (size_t i = 0; i < count; i++) {
        const char *address = touched[i].evidence->address;
        const struct account_row *row = &touched[i].row;
        if (!touched[i].changed)
            continue;
        mirror.accounts[mirror.count] = address;
        mirror.states[mirror.count] = account_state_name(row->state);
        mirror.reasons[mirror.count] = row->reason;
        mirror.sequences[mirror.count] = row->sequence;
        mirror.ledgers[mirror.count] = row->sequence_ledger;
        mirror.released[mirror.count++] = has(ended->accounts, ended->count, address);
    }
    return mirror;
}

/* The accounts of ended leases that the mirror does not write are moved to the front. */
static size_t only_released(const struct settle_columns *mirror, struct ended *ended)
{
    size_t kept = 0;
    for (size_t i = 0; i < ended->count; i++)
        if (!has(mirror->accounts, mirror->count, ended->accounts[i]))
            ended->accounts[kept++] = ended->accounts[i];
    return kept;
}

enum err settle_write(
    struct db *db, const struct touched touched[], size_t count, struct ended *ended, struct detail *detail)
{
    struct settle_columns mirror CLEANUP(mirror_free) = mirror_of(touched, count, ended);
    size_t rest = only_released(&mirror, ended);
    if (mirror.count + rest == 0)
        return ERR_OK;
    const struct db_statement statements[] = {
        DB_SQL(sql_mirror, DB_TEXTS(mirror.accounts, mirror.count), DB_TEXTS(mirror.states, mirror.count),
            DB_I64S(mirror.sequences, mirror.count), DB_I64S(mirror.ledgers, mirror.count),
            DB_TEXTS(mirror.reasons, mirror.count), DB_BOOLS(mirror.released, mirror.count)),
        DB_SQL(sql_release, DB_TEXTS(ended->accounts, rest)),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    return e;
}
