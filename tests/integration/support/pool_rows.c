#include "pool_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "base/mem.h"

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

void leased_rows(const struct test_db *db, unsigned first, unsigned count)
{
    struct names *names AUTO_FREE = NEW_ARRAY(count, struct names);
    const char **accounts AUTO_FREE = NEW_ARRAY(count, const char *);
    const char **hashes AUTO_FREE = NEW_ARRAY(count, const char *);
    struct detail detail = {0};
    AUTO_DB session = test_db_open(db);
    for (unsigned i = 0; i < count; i++) {
        names[i] = names_of(first + i);
        accounts[i] = names[i].address;
        hashes[i] = names[i].hash;
    }
    test_db_exec(db,
        "INSERT INTO fairway.master_keys (key_id) VALUES ('" POOL_ROWS_KEY_ID "') ON CONFLICT DO NOTHING");
    if (db_query(session,
            DB_SQL(
                "WITH n AS (SELECT account, decode(hex, 'hex') AS hash, n, extract(epoch FROM now())::int8 + "
                "60"
                "   AS max_time FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (account, hex, n)),"
                " l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time,"
                "   request_id, granted_at) SELECT hash, account, 51, '', '', max_time, 'r', now() FROM n)"
                " INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence,"
                "   sequence_ledger, state, lease_hash, lease_client, lease_sequence, lease_max_time, "
                "locked_at)"
                " SELECT account, $3 + n, decode(repeat('ab', 72), 'hex'), '" POOL_ROWS_KEY_ID "', 50, $4,"
                "   'active', hash, '', 51, max_time, now() FROM n",
                DB_TEXTS(accounts, count), DB_TEXTS(hashes, count), DB_I64((int64_t)first - 1),
                DB_I64(POOL_ROWS_LEDGER)),
            NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

void lease_row_end(const struct test_db *db, unsigned n, const char *result, const char *code)
{
    struct names names = names_of(n);
    test_db_execf(db, TEST_END_LEASES("'%s'", "nullif('%s', '')", "%d", "a.public_key = '%s'"), result,
        code == NULL ? "" : code, POOL_ROWS_LEDGER, names.address, names.address);
}

void provisioning_row(const struct test_db *db, const char *kind, unsigned n, uint64_t max_time_s)
{
    const struct names source = names_of(1000), account = names_of(1), transaction = names_of(n);
    test_db_execf(db,
        "INSERT INTO fairway.network (passphrase, distribution_account) VALUES ('" BUILT_PASSPHRASE "', '%s')"
        " ON CONFLICT DO NOTHING;"
        "INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, source, sequence, max_time)"
        " VALUES ('%s', '{%s}', '\\x%s', '', '%s', 7, %llu)",
        source.address, kind, account.address, transaction.hash, source.address,
        (unsigned long long)max_time_s);
}
