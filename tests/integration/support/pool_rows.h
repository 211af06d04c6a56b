/*
 * Rows of the pool for tests that need no key process: account n is built_key(n), and its one lease
 * built_hash(n). The seeds are nobody's.
 */
#ifndef FAIRWAY_TESTS_POOL_ROWS_H
#define FAIRWAY_TESTS_POOL_ROWS_H

#include "ledger_builder.h"
#include "pg.h"

#define POOL_ROWS_LEDGER 100
#define POOL_ROWS_KEY_ID "00000000000000aa"

/* A ledger that closed age_s ago, and the cursor at it. */
void ledger_row(const struct test_db *db, int age_s);
/* Without a lease. Its sequence is 50 as of POOL_ROWS_LEDGER, unknown while creating; box bytes are all n. */
void account_row(const struct test_db *db, unsigned n, const char *state);
/* Opens the account's lease, of sequence 51, as if age_s ago for a minute. */
void lease_row(const struct test_db *db, unsigned n, const char *client, int age_s);
/* Ends it in POOL_ROWS_LEDGER. code: a result code's name, or NULL. */
void lease_row_end(const struct test_db *db, unsigned n, const char *result, const char *code);

/* SQL with values, of at most 4 KB. */
void test_db_execf(const struct test_db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
