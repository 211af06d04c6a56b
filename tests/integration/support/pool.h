/*
 * A pool in a database of its own, a key process, and ledgers that the test closes: without HTTP and without
 * a network. Every function here fails the test on an error.
 */
#pragma once

#include <stdlib.h>

#include "check.h"
#include "ledger_builder.h"
#include "pg.h"
#include "grant/grant.h"
#include "pool/settle.h"
#include "unit/stellar/sample.h"

/* For other threads: cmocka's assertions work on the main thread only. */
#define check(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

struct test_pool {
    struct test_db test;
    struct db *db;               /* the test's own connection */
    struct keyd *keyd;           /* KEYD_SERVE */
    struct public_key *accounts; /* by slot */
    size_t count;
    struct grant_settings settings;
};

/* test_pg_start must have started the server. */
void test_pool_open(struct test_pool *pool, size_t accounts);
void test_pool_close(struct test_pool *pool);
/* Set-up and tear-down of a cmocka test; *state is the struct test_pool. */
int test_pool_set_up(void **state, size_t accounts);
int test_pool_tear_down(void **state);

/* A client's request and its grant. */
struct asked {
    struct sample sample;
    struct lease_request request;
    struct grant grant;
};

/* Makes a request for a payment of sample_key(CLIENT), with an open grant. */
void ask(const struct test_pool *pool, struct asked *asked);
/* The same for asked->sample. Both decode and check it as the service does before it takes an account. */
void ask_sample(const struct test_pool *pool, struct asked *asked);
void asked_wipe(struct asked *asked);
void asked_wipe_all(struct asked asked[], size_t count);

/* Reads which leases these idempotency keys of client '' have, as a batch does. */
void test_find_keys(struct db *db, const char *const texts[], size_t count);
/* The same for this claim, which has a lease. */
void test_find_claim(struct db *db, struct bytes claim);
/* Locks the idempotency key "key" in db's transaction, as a grant of another replica does. */
void test_lock_key(struct db *db);

/* grant_batch_run with GRANT_CLAIM and without other replicas. */
enum err test_pool_grant(struct test_pool *pool, struct asked asked[], size_t count, struct detail *detail);
/* The same for a batch that does not fail, though it may refuse what is asked. */
void test_pool_decide(struct test_pool *pool, struct asked asked[], size_t count);
/* Grants count leases. */
void test_pool_grant_all(struct test_pool *pool, struct asked asked[], size_t count);

/* Commits the next ledger: settles it, moves the cursor, inserts its row. what has its transactions, accounts
 * and close time (0: now); NULL: an empty ledger that closes now. */
struct settled test_pool_close_ledger(struct db *db, const struct built_ledger *what);
/* The same for a ledger that includes these leases' transactions, all successful. */
struct settled test_pool_include(struct db *db, const struct lease *const leases[], size_t count);

/* Asserts that the envelope has every field that the lease has, and one signature, which is its account's and
 * valid for the recomputed hash. */
void assert_lease_signed(const struct test_pool *pool, const struct lease *lease);

int64_t leased_accounts(const struct test_pool *pool);
int64_t lease_rows(const struct test_pool *pool);
void assert_nothing_leased(const struct test_pool *pool);
