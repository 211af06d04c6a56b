#include "pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "grant/idempotency.h"
#include "grant/lease_claims.h"
#include "stellar/envelope_build.h"
#include "keyd.h"
#include "ledger_envelopes.h"
#include "pool_seed.h"
#include "settle_alone.h"

static void must(enum err e, const struct detail *detail, const char *doing)
{
    if (e != ERR_OK)
        fail_msg("%s: %s %s", doing, err_code(e), detail->text);
}

void test_pool_open(struct test_pool *pool, size_t accounts)
{
    const struct keyd_settings known = keyd_test_settings();
    const struct public_key distribution = keyd_distribution();
    struct detail detail = {0};
    *pool = (struct test_pool){.test = test_db_new(TEST_DB_MIGRATED),
        .accounts = NEW_ARRAY(accounts, struct public_key),
        .count = accounts,
        .settings = {.network = known.network, .limits = known.limits, .ledger_ms = 5000}};
    pool->db = test_db_open(&pool->test);
    struct keyd *provision = keyd_loaded(KEYD_PROVISION);
    must(pool_seed_network(pool->db, KEYD_TEST_PASSPHRASE, &distribution, &detail), &detail, "network");
    must(pool_seed_accounts(pool->db, provision, 0, accounts, pool->accounts, &detail), &detail, "accounts");
    keyd_stop(provision);
    pool->keyd = keyd_loaded(KEYD_SERVE);
}

void test_pool_close(struct test_pool *pool)
{
    keyd_stop(pool->keyd);
    db_free(pool->db);
    test_db_drop(&pool->test);
    free(pool->accounts);
}

int test_pool_set_up(void **state, size_t accounts)
{
    struct test_pool *pool = NEW(struct test_pool);
    test_pool_open(pool, accounts);
    *state = pool;
    return 0;
}

int test_pool_tear_down(void **state)
{
    test_pool_close(*state);
    free(*state);
    return 0;
}

void ask_sample(const struct test_pool *pool, struct asked *asked)
{
    struct detail detail = {0};
    must(sample_decode(&asked->sample, &detail), &detail, "sample");
    asked->request.envelope = asked->sample.view;
    must(policy_check(&asked->request.envelope, &pool->settings.limits, &asked->request.named, &detail),
        &detail, "policy");
    snprintf(asked->request.request_id, sizeof asked->request.request_id, "request");
    asked->grant = (struct grant){.request = &asked->request};
}

void ask(const struct test_pool *pool, struct asked *asked)
{
    *asked = (struct asked){.sample = SAMPLE};
    add_payment(&asked->sample, PLAIN, CLIENT);
    ask_sample(pool, asked);
}

void asked_wipe(struct asked *asked)
{
    lease_wipe(&asked->grant.lease);
    authorization_free(&asked->request.authorization);
    sample_wipe(&asked->sample);
}

void asked_wipe_all(struct asked asked[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        asked_wipe(&asked[i]);
}

void test_find_keys(struct db *db, const char *const texts[], size_t count)
{
    struct idempotency_keys *keys AUTO_FREE = NEW(struct idempotency_keys);
    struct lease_request *requests AUTO_FREE = NEW_ARRAY(count, struct lease_request);
    struct grant grants[GRANT_BATCH_MAX] = {0}, *pointers[GRANT_BATCH_MAX];
    struct db_statement statements[IDEMPOTENCY_STATEMENTS];
    struct detail detail = {0};
    for (size_t i = 0; i < count; i++) {
        snprintf(requests[i].idempotency_key, sizeof requests[i].idempotency_key, "%s", texts[i]);
        grants[i].request = &requests[i];
        pointers[i] = &grants[i];
    }
    idempotency_init(keys, pointers, count);
    idempotency_statements(keys, statements);
    must(db_query(db, statements[1], NULL, &detail), &detail, "keys");
}

void test_find_claim(struct db *db, struct bytes claim)
{
    struct lease_claims claims CLEANUP(lease_claims_free) = {0};
    struct lease_request *request AUTO_FREE = NEW(struct lease_request);
    struct grant grant = {.request = request}, *const grants[] = {&grant};
    struct authorization_entry entry = {.key = claim};
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    request->authorization = (struct authorization){.entries = &entry, .count = 1};
    lease_claims_init(&claims, grants, 1);
    must(db_query(db, lease_claims_statement(&claims), &rows, &detail), &detail, "claim");
    assert_int_equal(db_count(rows), 1);
}

void test_lock_key(struct db *db)
{
    assert_int_equal(
        db_query(db, DB_SQL("SELECT pg_advisory_xact_lock($1)::text", DB_I64(idempotency_lock("", "key"))),
            NULL, NULL),
        ERR_OK);
}

enum err test_pool_grant(struct test_pool *pool, struct asked asked[], size_t count, struct detail *detail)
{
    struct grant *grants[GRANT_BATCH_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        grants[i] = &asked[i].grant;
    struct grant_batch batch = {.grants = grants, .count = count, .mode = GRANT_CLAIM};
    return grant_batch_run(pool->db, pool->keyd, &pool->settings, &batch, detail);
}

void test_pool_decide(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    enum err e;
    while ((e = test_pool_grant(pool, asked, count, &detail)) == ERR_SERIALIZATION)
        ; /* as the engine does */
    must(e, &detail, "grant");
}

void test_pool_grant_all(struct test_pool *pool, struct asked asked[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        ask(pool, &asked[i]);
    test_pool_decide(pool, asked, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(asked[i].grant.state, GRANT_DONE);
}

static const char sql_next[] =
    "SELECT sequence + 1, hash, greatest(close_time, floor(extract(epoch FROM clock_timestamp()))::int8)"
    " FROM fairway.cursor";

static const char sql_move[] = "UPDATE fairway.cursor SET sequence = $1, hash = $2, close_time = $3";

struct closing {
    struct ledger ledger;
    struct settled settled;
};

static enum err commit(struct db *db, void *context)
{
    struct closing *closing = context;
    const struct ledger *ledger = &closing->ledger;
    struct detail detail = {0};
    const struct db_param sequence = DB_I64(ledger->sequence), hash = DB_BYTEA(BYTES_OF(ledger->hash.bytes)),
                          close_time = DB_I64((int64_t)ledger->close_time_s);
    enum err e = db_query(db, DB_SQL(sql_move, sequence, hash, close_time), NULL, &detail);
    if (e == ERR_OK)
        e = settle_alone(db, ledger, NULL, &closing->settled, &detail);
    if (e != ERR_OK)
        print_error("ledger: %s %s\n", err_code(e), detail.text);
    return e;
}

static const char sql_envelopes[] = "SELECT hash, envelope FROM fairway.leases WHERE envelope <> ''";

/* So that ledgers can have them. */
static void add_envelopes(struct db *db)
{
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    must(db_query(db, DB_SQL0(sql_envelopes), &rows, &detail), &detail, "envelopes");
    for (size_t i = 0; i < db_count(rows); i++) {
        struct hash hash;
        memcpy(hash.bytes, db_bytea(rows, i, 0).data, sizeof hash.bytes);
        envelope_add(&hash, db_bytea(rows, i, 1));
    }
}

struct settled test_pool_close_ledger(struct db *db, const struct built_ledger *what)
{
    struct built_ledger next = what != NULL ? *what : (struct built_ledger){0};
    struct closing closing = {0};
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    struct buf meta CLEANUP(buf_free) = {0};
    struct hash hash;
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    must(db_query(db, DB_SQL0(sql_next), &rows, &detail), &detail, "cursor");
    add_envelopes(db);
    next.meta_version = 2;
    next.sequence = (uint32_t)db_i64(rows, 0, 0);
    memcpy(next.previous_hash.bytes, db_bytea(rows, 0, 1).data, sizeof next.previous_hash.bytes);
    if (next.close_time_s == 0)
        next.close_time_s = (uint64_t)db_i64(rows, 0, 2);
    ledger_build(&next, &meta, &hash);
    must(ledger_decode(buf_bytes(&meta), &network, &closing.ledger, &detail), &detail, "decode");
    must(db_transaction(db, commit, &closing, &detail), &detail, "ledger transaction");
    ledger_free(&closing.ledger);
    return closing.settled;
}

struct settled test_pool_include(struct db *db, const struct lease *const leases[], size_t count)
{
    struct built_transaction *transactions AUTO_FREE = NEW_ARRAY(count, struct built_transaction);
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(count, struct built_account);
    for (size_t i = 0; i < count; i++) {
        transactions[i].hash = leases[i]->hash;
        accounts[i] = (struct built_account){.key = leases[i]->account, .sequence = leases[i]->sequence};
    }
    return test_pool_close_ledger(db, &(struct built_ledger){.transactions = transactions,
                                          .transaction_count = count,
                                          .accounts = accounts,
                                          .account_count = count});
}

void assert_lease_signed(const struct test_pool *pool, const struct lease *lease)
{
    struct envelope envelope;
    struct detail detail = {0};
    must(envelope_decode(buf_bytes(&lease->envelope), &envelope, &detail), &detail, "envelope");
    const struct hash hash = envelope_hash(&pool->settings.network, &envelope);
    assert_true(hash_equal(&hash, &lease->hash));
    assert_int_equal(envelope.form, ENVELOPE_V1);
    assert_true(public_key_equal(&envelope.source, &lease->account));
    assert_false(envelope.source_muxed);
    assert_int_equal(envelope.sequence, lease->sequence);
    assert_int_equal(envelope.fee_stroops, pool->settings.limits.base_fee_stroops * envelope.operation_count);
    assert_true(envelope.preconditions.max_time_s == lease->max_time_s);
    assert_int_equal(envelope.signature_count, 1);
    assert_true(envelope_signed_by(&envelope, &lease->account, &hash));
}

int64_t leased_accounts(const struct test_pool *pool)
{
    return test_db_number(
        &pool->test, "SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL");
}

int64_t lease_rows(const struct test_pool *pool)
{
    return test_db_number(&pool->test, "SELECT count(*) FROM fairway.leases");
}

void assert_nothing_leased(const struct test_pool *pool)
{
    assert_int_equal(leased_accounts(pool), 0);
    assert_int_equal(lease_rows(pool), 0);
}
