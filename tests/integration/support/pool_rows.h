/*
 * Rows of the pool for tests without a key process: account n is built_key(n), its lease built_hash(n). The
 * sealed seeds do not open.
 */
#pragma once

#include "ledger_builder.h"
#include "pg.h"

#define POOL_ROWS_LEDGER 100
#define POOL_ROWS_KEY_ID "00000000000000aa"

/* Inserts a ledger that closed age_s ago, and the cursor. */
void ledger_row(const struct test_db *db, int age_s);
/* Inserts account n without a lease. Its sequence number is 50 as of POOL_ROWS_LEDGER, or unknown if it is
 * creating; all bytes of its sealed seed are n. */
void account_row(const struct test_db *db, unsigned n, const char *state);
/* Inserts an open lease of account n with sequence number 51, which began age_s ago and lasts for a minute.
 */
void lease_row(const struct test_db *db, unsigned n, const char *client, int age_s);
/* The same for `count` active accounts from `first` on, each with a lease that nobody's client has. */
void leased_rows(const struct test_db *db, unsigned first, unsigned count);
/* Ends the lease of account n in POOL_ROWS_LEDGER. code: the name of a result code, or NULL. */
void lease_row_end(const struct test_db *db, unsigned n, const char *result, const char *code);

/* Runs formatted SQL of at most 4 KB. */
void test_db_execf(const struct test_db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Stores a pending provisioning transaction of account 1, whose hash is built_hash(n). It consumes sequence
 * number 7 of the distribution account, built_key(1000). */
void provisioning_row(const struct test_db *db, const char *kind, unsigned n, uint64_t max_time_s);
