/*
 * A seeded pool in a database of its own, a key process that serves it, and ledgers closed by hand: the
 * pool's own code without HTTP and without a network. Everything here fails the test when it goes wrong.
 */
#ifndef FAIRWAY_TESTS_POOL_H
#define FAIRWAY_TESTS_POOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger_builder.h"
#include "pg.h"
#include "grant/grant.h"
#include "pool/settle.h"
#include "unit/stellar/sample.h"

struct test_pool {
    struct test_db test;
    struct db *db;               /* the test's own connection */
    struct keyd *keyd;           /* KEYD_SERVE */
    struct public_key *accounts; /* by slot */
    size_t count;
    struct grant_settings settings;
};

/* On a server that runs (test_pg_start). */
void test_pool_open(struct test_pool *pool, size_t accounts);
void test_pool_close(struct test_pool *pool);
/* For cmocka: *state is a struct test_pool of its own. */
int test_pool_set_up(void **state, size_t accounts);
int test_pool_tear_down(void **state);

/* A client's request; its grant is open. */
struct asked {
    struct sample sample;
    struct lease_request request;
    struct grant grant;
};

/* For a payment of sample_key(CLIENT). */
void ask(const struct test_pool *pool, struct asked *asked);
/* For the sample that is there: judged as the service does before it takes an account. */
void ask_sample(const struct test_pool *pool, struct asked *asked);
void asked_wipe(struct asked *asked);
void asked_wipe_all(struct asked asked[], size_t count);

/* Locks the idempotency key "key" in db's transaction, as a grant of another replica does. */
void test_lock_key(struct db *db);

/* grant_batch_run with GRANT_CLAIM and without other replicas. */
enum err lease_grant(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant *const grants[], size_t count, struct detail *detail);
enum err test_pool_grant(struct test_pool *pool, struct asked asked[], size_t count, struct detail *detail);
/* Asks for count leases, all of which must be had. */
void test_pool_grant_all(struct test_pool *pool, struct asked asked[], size_t count);

/* Commits the next ledger, closed now, in db: it settles, moves the cursor, and is a row. The rest of what
 * (NULL: an empty ledger) is taken as it is. */
struct settled test_pool_close_ledger(struct db *db, const struct built_ledger *what);
/* One that has these leases' transactions in it, successful. */
struct settled test_pool_include(struct db *db, const struct lease *const leases[], size_t count);

/* Fails unless the answered envelope is what the lease says, in every field that the pool decides, and has
 * the one valid signature of its account over the hash computed anew. */
void assert_lease_signed(const struct test_pool *pool, const struct lease *lease);

/* What is left behind. */
int64_t leased_accounts(const struct test_pool *pool);
int64_t lease_rows(const struct test_pool *pool);
void assert_nothing_leased(const struct test_pool *pool);

#endif
