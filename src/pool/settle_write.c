#include "settle_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pool/accounts.h"

/* One UPDATE a row: the state after the ledger, and the end of its lease. sequence_ledger 0: the sequence
 * number is still unknown. */
static const char sql_change[] =
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

/* Accounts of which only the lease changes. */
static const char sql_release[] =
    "UPDATE fairway.channel_accounts a SET lease_hash = NULL, locked_at = NULL, locked_until = NULL"
    " WHERE a.public_key = ANY ($1::text[])";

/* The parameters of sql_change. */
struct columns {
    const char **accounts, **states, **reasons;
    int64_t *sequences, *ledgers;
    bool *released;
    size_t count;
};

static void columns_free(struct columns *columns)
{
    free(columns->accounts);
    free(columns->states);
    free(columns->reasons);
    free(columns->sequences);
    free(columns->ledgers);
    free(columns->released);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const char *const accounts[], size_t count, const char *account)
{
    return bsearch(&account, accounts, count, sizeof accounts[0], compare_texts) != NULL;
}

static struct columns columns_of(
    const struct settle_account accounts[], size_t count, const struct settle_ended *ended)
{
    struct columns columns = {NEW_ARRAY(count, const char *), NEW_ARRAY(count, const char *),
        NEW_ARRAY(count, const char *), NEW_ARRAY(count, int64_t), NEW_ARRAY(count, int64_t),
        NEW_ARRAY(count, bool), 0};
    for (size_t i = 0; i < count; i++) {
        const char *address = accounts[i].evidence->address;
        const struct account_row *row = &accounts[i].row;
        if (!accounts[i].changed)
            continue;
        columns.accounts[columns.count] = address;
        columns.states[columns.count] = account_state_name(row->state);
        columns.reasons[columns.count] = row->reason;
        columns.sequences[columns.count] = row->sequence;
        columns.ledgers[columns.count] = row->sequence_ledger;
        columns.released[columns.count++] = has(ended->accounts, ended->count, address);
    }
    return columns;
}

/* Moves the accounts that sql_change does not write to the front of ended, and returns how many they are. */
static size_t only_released(const struct columns *columns, struct settle_ended *ended)
{
    size_t kept = 0;
    for (size_t i = 0; i < ended->count; i++)
        if (!has(columns->accounts, columns->count, ended->accounts[i]))
            ended->accounts[kept++] = ended->accounts[i];
    return kept;
}

enum err settle_write(struct db *db, const struct settle_account accounts[], size_t count,
    struct settle_ended *ended, struct detail *detail)
{
    struct columns columns CLEANUP(columns_free) = columns_of(accounts, count, ended);
    size_t rest = only_released(&columns, ended);
    if (columns.count + rest == 0)
        return ERR_OK;
    const struct db_statement statements[] = {
        DB_SQL(sql_change, DB_TEXTS(columns.accounts, columns.count), DB_TEXTS(columns.states, columns.count),
            DB_I64S(columns.sequences, columns.count), DB_I64S(columns.ledgers, columns.count),
            DB_TEXTS(columns.reasons, columns.count), DB_BOOLS(columns.released, columns.count)),
        DB_SQL(sql_release, DB_TEXTS(ended->accounts, rest)),
        DB_SQL0(ACCOUNTS_NOTIFY_SQL),
    };
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}
