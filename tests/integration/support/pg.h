/*
 * A real PostgreSQL server for integration tests (pg.sh), and a database of its own for each test. The server
 * is private to the test program and ends with it. A runner that sets FAIRWAY_TEST_PG_URL (the URL of a
 * superuser) shares one server among programs that do not stop it. Every function ends the program with a
 * message when it fails.
 */
#ifndef FAIRWAY_TESTS_PG_H
#define FAIRWAY_TESTS_PG_H

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
    char *url;
    char name[48];
};
enum test_db_kind {
    TEST_DB_EMPTY,
    TEST_DB_MIGRATED /* after `fairway migrate`: a copy of a template that each program makes once */
};
struct test_db test_db_new(enum test_db_kind kind);
/* Drops it even while connections are open. */
void test_db_drop(struct test_db *db);

/* A connection with the defaults of db_settings; the caller frees it. */
struct db *test_db_open(const struct test_db *db, enum db_kind kind);
/* Runs SQL of any number of statements in a connection of its own, whose search_path is pg_catalog. */
void test_db_exec(const struct test_db *db, const char *sql);
/* SQL that deletes all leases and fee bumps, also open leases: the triggers that forbid it do not fire. */
#define TEST_DELETE_LEASES                                                                                   \
    "SET session_replication_role = replica; DELETE FROM fairway.fee_bumps; DELETE FROM fairway.leases;"     \
    " SET session_replication_role = origin;"
/* Returns the one number (int8) of a query, which runs in a connection of its own. */
int64_t test_db_number(const struct test_db *db, const char *sql);

/* For a private server only. Kill sends SIGKILL to the postmaster, as in a crash. Freeze sends SIGSTOP to it
 * and to all its children. */
void test_pg_kill(void);
void test_pg_restart(void); /* on the same port */
void test_pg_freeze(void);
void test_pg_thaw(void);

#endif
