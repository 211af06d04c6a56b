/*
 * A real PostgreSQL server for integration tests (pg.sh), and a database of its own for each test. The server
 * is private to the test program and ends with it. A runner that sets FAIRWAY_TEST_PG_URL (the URL of a
 * superuser) shares one server among programs that do not stop it. Every function ends the program with a
 * message when it fails.
 */
#pragma once

#include "db/db.h"

/* Set-up and tear-down of a cmocka group. The private form is for tests that kill or stop the server. */
int test_pg_start(void **state);
int test_pg_start_private(void **state);
int test_pg_stop(void **state);

/* The superuser's URL of the server's database postgres. */
const char *test_pg_url(void);
/* The server's loopback port. */
unsigned test_pg_port(void);

struct test_db {
    char *url;       /* of the superuser, who migrates */
    char *serve_url; /* of the role fairway, which has the rights of docker/roles.sql */
    char name[48];
};
enum test_db_kind {
    TEST_DB_EMPTY,
    TEST_DB_MIGRATED /* after `fairway migrate`: a copy of a template that each program makes once */
};
struct test_db test_db_new(enum test_db_kind kind);
/* Drops it even while connections are open. */
void test_db_drop(struct test_db *db);

/* A connection with the defaults of db_settings, but for more time to connect; the caller frees it. */
struct db *test_db_open(const struct test_db *db);
void test_db_free_at(struct db **db);
#define AUTO_DB CLEANUP(test_db_free_at) struct db *
/* The URL of the database through a proxy on this port, and a connection by it. */
char *test_db_url_through(const struct test_db *db, unsigned port);
struct db *test_db_open_through(const struct test_db *db, unsigned port);
/* Runs SQL of any number of statements in a connection of its own, whose search_path is pg_catalog. */
void test_db_exec(const struct test_db *db, const char *sql);
/* Runs tests/assertions.sql on the connection and prints what it finds. Returns the number of rows. */
size_t test_db_broken_rules(struct db *db);
/* SQL that runs with none of the triggers that check and protect leases. */
#define TEST_UNCHECKED(sql)                                                                                  \
    "SET session_replication_role = replica; " sql "; SET session_replication_role = origin;"
/* The assignments that clear an account's lease. */
#define TEST_NO_LEASE                                                                                        \
    "lease_hash = NULL, lease_client = NULL, lease_sequence = NULL, lease_max_time = NULL,"                  \
    " lease_max_ledger = NULL, lease_contract = NULL, locked_at = NULL"
/* Deletes all leases, also open ones, with all that belongs to them. */
#define TEST_DELETE_LEASES                                                                                   \
    TEST_UNCHECKED("DELETE FROM fairway.fee_bumps; DELETE FROM fairway.lease_results;"                       \
                   " DELETE FROM fairway.idempotency_keys; DELETE FROM fairway.leases;"                      \
                   " DELETE FROM fairway.lease_claims;"                                                      \
                   " UPDATE fairway.channel_accounts SET " TEST_NO_LEASE " WHERE lease_hash IS NOT NULL")
/* Changes rows of fairway.leases and the copies in the accounts' rows; changes: what follows SET. */
#define TEST_CHANGE_LEASES(changes)                                                                          \
    TEST_UNCHECKED("UPDATE fairway.leases SET " changes "; UPDATE fairway.channel_accounts a SET"            \
                   " lease_client = l.client, lease_sequence = l.sequence, lease_max_time = l.max_time,"     \
                   " lease_max_ledger = l.max_ledger, locked_at = l.granted_at FROM fairway.leases l"        \
                   " WHERE l.hash = a.lease_hash")
/* SELECTs that record a lease of 60 s, with neither key nor envelope, and end one; the account and the hash
 * are SQL. */
#define TEST_LEASE(hash, account, sequence, client)                                                          \
    " fairway.record_leases(ARRAY[" hash "], ARRAY[" account "]::text[], ARRAY[" sequence "],"               \
    " ARRAY[NULL::bigint], ARRAY[" client "], ARRAY[''::bytea],"                                             \
    " ARRAY[floor(extract(epoch FROM now()))::bigint + 60], ARRAY[0], ARRAY['r'], ARRAY[NULL],"              \
    " ARRAY[NULL::bytea], ARRAY[0], ARRAY[NULL], ARRAY[NULL::bytea], ARRAY[NULL], ARRAY[0])"
/* Ends the open leases of accounts a; the result and its code are SQL. */
#define TEST_END_LEASES(result, code, ledger, where)                                                         \
    "WITH ended AS (INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger,"       \
    "   client, ended_ledger, place)"                                                                        \
    " SELECT a.lease_hash, a.locked_at, " result ", " code ", l.n, a.lease_client, l.n, a.slot"              \
    " FROM fairway.channel_accounts a, (SELECT " ledger "::int8 AS n) l"                                     \
    " WHERE a.lease_hash IS NOT NULL AND " where ")"                                                         \
    " UPDATE fairway.channel_accounts a SET " TEST_NO_LEASE " WHERE a.lease_hash IS NOT NULL AND " where
/* Returns the one number (int8) of a query. It runs in a connection that stays open until the next
 * test_db_exec; a second time, in a new one, when that fails. */
int64_t test_db_number(const struct test_db *db, const char *sql);
/* Waits until a session of the database waits for a lock, for `ms` at most, and returns whether one does. */
bool test_db_await_lock_wait(const struct test_db *db, int64_t ms);

/* For a private server only. Kill sends SIGKILL to the postmaster, as in a crash. Freeze sends SIGSTOP to it
 * and to all its children. */
void test_pg_kill(void);
void test_pg_restart(void); /* on the same port */
void test_pg_freeze(void);
void test_pg_thaw(void);
