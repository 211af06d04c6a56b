/* Reads rows of accounts, without locks. Nothing here writes or waits. */
#include "pool/account_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct account_addresses account_addresses_of(const struct public_key accounts[], size_t count)
{
    struct account_addresses addresses = {mem_new(count, ADDRESS_SIZE), NEW_ARRAY(count, const char *)};
    for (size_t i = 0; i < count; i++) {
        address_encode(&accounts[i], addresses.encoded[i]);
        addresses.texts[i] = addresses.encoded[i];
    }
    return addresses;
}

void account_addresses_free(struct account_addresses *addresses)
{
    free(addresses->encoded);
    free(addresses->texts);
}

enum err account_read_seed(const struct db_rows *rows, size_t row, int column, struct public_key *account,
    struct sealed_seed *sealed, struct detail *detail)
{
    const char *address = db_text(rows, row, column), *key_id = db_text(rows, row, column + 2);
    const struct bytes box = db_bytea(rows, row, column + 1);
    if (address_decode(address, account) != ERR_OK || box.len != sizeof sealed->box ||
        strlen(key_id) != sizeof sealed->key_id - 1)
        return detail_set(detail, ERR_INTERNAL, "the row of account %s is malformed", address);
    memcpy(sealed->box, box.data, box.len);
    memcpy(sealed->key_id, key_id, sizeof sealed->key_id);
    return ERR_OK;
}

enum err account_read_source(
    const struct db_rows *rows, size_t row, struct account_source *out, struct detail *detail)
{
    out->sequence = db_i64(rows, row, ACCOUNT_SEED_COLUMN_COUNT);
    out->sequence_ledger = db_i64(rows, row, ACCOUNT_SEED_COLUMN_COUNT + 1);
    return account_read_seed(rows, row, 0, &out->key, &out->sealed, detail);
}

static const char sql_states[] =
    "SELECT n.ordinal, a.state FROM unnest($1::text[]) WITH ORDINALITY n (key, ordinal)"
    " JOIN fairway.channel_accounts a ON a.public_key = n.key";

enum err account_read_states(struct db *db, const struct public_key accounts[], size_t count, bool known[],
    enum account_state states[], struct detail *detail)
{
    struct account_addresses addresses CLEANUP(account_addresses_free) =
        account_addresses_of(accounts, count);
    AUTO_ROWS rows = NULL;
    memset(known, 0, count * sizeof known[0]);
    enum err e = db_query(db, DB_SQL(sql_states, DB_TEXTS(addresses.texts, count)), &rows, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(rows, count); row++) {
        const size_t i = db_ordinal(rows, row, 0, count);
        known[i] = true;
        if (account_state_parse(db_text(rows, row, 1), &states[i]) != ERR_OK)
            e = detail_set(detail, ERR_INTERNAL, "account %s has an unknown state", addresses.texts[i]);
    }
    return e;
}

/* An active account is idle or leased. */
#define SHOWN_STATE                                                                                          \
    "CASE WHEN a.state <> 'active' THEN a.state WHEN a.lease_hash IS NULL THEN 'idle' ELSE 'leased' END"

/* In the column's own collation, so that the index of the primary key returns the page; in another one, each
 * page would sort all accounts that are left. */
static const char sql_page[] =
    "SELECT a.public_key, " SHOWN_STATE ", coalesce(a.quarantine_reason, ''), coalesce(a.sequence, -1),"
    " coalesce(a.sequence_ledger, -1), a.lease_hash, a.lease_max_time,"
    " coalesce(a.lease_client = coalesce($4, a.lease_client), false) FROM fairway.channel_accounts a"
    " WHERE a.public_key > $2 AND CASE WHEN $1::text IS NULL THEN a.state <> 'retired' ELSE " SHOWN_STATE
    "   = $1 END ORDER BY a.public_key LIMIT $3";

static void read_shown(const struct db_rows *rows, size_t row, struct account_shown *out)
{
    *out = (struct account_shown){.lease_shown = db_bool(rows, row, 7)};
    snprintf(out->public_key, sizeof out->public_key, "%s", db_text(rows, row, 0));
    snprintf(out->state, sizeof out->state, "%s", db_text(rows, row, 1));
    snprintf(out->reason, sizeof out->reason, "%s", db_text(rows, row, 2));
    out->sequence = db_i64(rows, row, 3);
    out->sequence_ledger = db_i64(rows, row, 4);
    if (out->lease_shown) {
        db_copy(rows, row, 5, out->lease_hash.bytes, sizeof out->lease_hash.bytes);
        out->lease_max_time_s = db_i64(rows, row, 6);
    }
}

enum err account_read_page(struct db *db, const char *state, const char *client, const char *after,
    size_t limit, struct account_shown out[], size_t *count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db,
        DB_SQL(sql_page, DB_TEXT(state), DB_TEXT(after), DB_I64((int64_t)limit), DB_TEXT(client)), &rows,
        detail);
    for (*count = 0; e == ERR_OK && *count < db_count_at_most(rows, limit); (*count)++)
        read_shown(rows, *count, &out[*count]);
    return e;
}
