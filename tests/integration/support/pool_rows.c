#include "pool_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void test_db_execf(const struct test_db *db, const char *format, ...)
{
    char sql[4096];
    va_list args;
    va_start(args, format);
    if (vsnprintf(sql, sizeof sql, format, args) >= (int)sizeof sql)
        abort();
    va_end(args);
    test_db_exec(db, sql);
}

/* The texts of account and lease n. */
struct names {
    char address[ADDRESS_SIZE], hash[HASH_HEX_SIZE];
};

static struct names names_of(unsigned n)
{
    struct names names;
    struct public_key key = built_key(n);
    struct hash hash = built_hash(n);
    address_encode(&key, names.address);
    hash_encode(&hash, names.hash);
    return names;
}

void ledger_row(const struct test_db *db, int age_s)
{
    test_db_execf(db,
        "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)"
        " VALUES (%d, decode(repeat('01', 32), 'hex'), 28,"
        " floor(extract(epoch FROM clock_timestamp()))::int8 - %d, 0);"
        "INSERT INTO fairway.cursor (sequence, hash, close_time) SELECT sequence, hash, close_time"
        " FROM fairway.ledgers",
        POOL_ROWS_LEDGER, age_s);
}

void account_row(const struct test_db *db, unsigned n, const char *state)
{
    struct names names = names_of(n);
    test_db_execf(db,
        "INSERT INTO fairway.master_keys (key_id) VALUES ('" POOL_ROWS_KEY_ID "') ON CONFLICT DO NOTHING;"
        "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence,"
        " sequence_ledger, state, quarantine_reason)"
        " SELECT '%s', CASE s WHEN 'retired' THEN NULL ELSE %u END, decode(repeat('%02x', 72), 'hex'),"
        " '" POOL_ROWS_KEY_ID "', CASE s WHEN 'creating' THEN NULL ELSE 50 END,"
        " CASE s WHEN 'creating' THEN NULL ELSE %d END, s,"
        " CASE s WHEN 'quarantined' THEN 'its signers changed' END FROM (SELECT '%s'::text AS s) AS given",
        names.address, n, n % 256, POOL_ROWS_LEDGER, state);
}

void lease_row(const struct test_db *db, unsigned n, const char *client, int age_s)
{
    struct names names = names_of(n);
    test_db_execf(db,
        "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time,"
        "   request_id, granted_at) VALUES ('\\x%s', '%s', 51, '%s', '',"
        "   floor(extract(epoch FROM now()))::int8 + 60, 'r', now()) RETURNING *)"
        " UPDATE fairway.channel_accounts a SET lease_hash = l.hash, lease_client = l.client,"
        " lease_sequence = l.sequence, lease_max_time = l.max_time, locked_at = l.granted_at"
        " FROM l WHERE a.public_key = l.account",
        names.hash, names.address, client);
    if (age_s == 0)
        return;
    test_db_execf(db,
        "SELECT fairway.add_partitions((now() - interval '%d s')::date, current_date);" TEST_CHANGE_LEASES(
            "granted_at = granted_at - interval '%d s', max_time = max_time - %d WHERE hash = '\\x%s'"),
        age_s, age_s, age_s, names.hash);
}

void lease_row_end(const struct test_db *db, unsigned n, const char *result, const char *code)
{
    struct names names = names_of(n);
    test_db_execf(db, TEST_END_LEASES("'%s'", "nullif('%s', '')", "%d", "a.public_key = '%s'"), result,
        code == NULL ? "" : code, POOL_ROWS_LEDGER, names.address, names.address);
}
