/* The statements of provisioning on a real PostgreSQL: slots, retirement beside grants, one pending
 * provisioning transaction, the lock. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/provision/session.h"
#include "pool/accounts.h"
#include "pool/pool_counts.h"
#include "pool/provisioning.h"
#include "base/mem.h"
#include "support/ledger_builder.h"
#include "support/pg.h"

struct world {
    struct test_db db;
    struct session session;
};

static struct session new_session(const struct world *world)
{
    struct network_id network = network_id_of("provision test");
    return session_new(world->db.url, &network);
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    world->db = test_db_new(TEST_DB_MIGRATED);
    test_db_exec(&world->db, "INSERT INTO fairway.master_keys (key_id) VALUES ('00000000000000aa')");
    world->session = new_session(world);
    assert_int_equal(session_take(&world->session, NULL), ERR_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    session_free(&world->session);
    test_db_drop(&world->db);
    free(world);
    return 0;
}

/* Stores the keys first to first + count - 1. */
static void store(struct world *world, uint64_t first, size_t count)
{
    struct generated_key keys[PROVISIONING_ACCOUNTS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        keys[i].public_key = built_key(first + i);
        memcpy(keys[i].sealed.key_id, "00000000000000aa", KEY_ID_SIZE);
        keys[i].sealed.box[0] = (uint8_t)(first + i);
    }
    assert_int_equal(session_begin(&world->session, NULL), ERR_OK);
    assert_int_equal(accounts_store(world->session.db, keys, NULL, count, 0, NULL), ERR_OK);
    assert_int_equal(db_commit(world->session.db, NULL), ERR_OK);
}

/* Inserts ten active accounts on slots 0 to 9. Those on slots below `leased` have an open lease. */
static void ten_active(struct world *world, int leased)
{
    store(world, 1, 10);
    test_db_exec(&world->db,
        "UPDATE fairway.channel_accounts SET state = 'active', sequence = 1, sequence_ledger = 1");
    AUTO_FREE char *sql = mem_format("SELECT" TEST_LEASE("sha256(public_key::text::bytea)", "public_key", "2",
                                         "''") " FROM fairway.channel_accounts WHERE slot < %d",
        leased);
    test_db_exec(&world->db, sql);
}

static struct pool_counts pool_counts(struct world *world)
{
    struct pool_counts pool_counts;
    assert_int_equal(pool_counts_read(world->session.db, true, &pool_counts, NULL), ERR_OK);
    return pool_counts;
}

static size_t retire(struct world *world, int64_t count)
{
    const int64_t before = pool_counts(world).retiring;
    assert_int_equal(session_begin(&world->session, NULL), ERR_OK);
    assert_int_equal(accounts_retire(world->session.db, count, NULL), ERR_OK);
    assert_int_equal(db_commit(world->session.db, NULL), ERR_OK);
    return (size_t)(pool_counts(world).retiring - before);
}

TEST(new_keys_are_stored_with_their_seeds_on_the_lowest_free_slots)
{
    struct world *world = *state;
    store(world, 1, 0);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.channel_accounts"), 0);
    store(world, 1, 6);
    test_db_exec(&world->db,
        "UPDATE fairway.channel_accounts SET state = 'retired', slot = NULL WHERE slot IN (1, 4)");
    store(world, 7, 4);
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.channel_accounts WHERE slot <= 7"), 8);
    assert_int_equal(test_db_number(&world->db,
                         "SELECT count(*) FROM fairway.channel_accounts WHERE get_byte(sealed_seed, 0) ="
                         " CASE slot WHEN 1 THEN 7 WHEN 4 THEN 8 WHEN 6 THEN 9 WHEN 7 THEN 10 END"),
        4);
    struct account_batch batch;
    assert_int_equal(accounts_pick(world->session.db, PROVISIONING_CREATION, 3, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 3);
    struct public_key expected[] = {built_key(1), built_key(7), built_key(3)};
    for (size_t i = 0; i < batch.count; i++) {
        assert_true(public_key_equal(&batch.keys[i], &expected[i]));
        assert_string_equal(batch.sealed[i].key_id, "00000000000000aa");
    }
    assert_int_equal(batch.sealed[1].box[0], 7);
}

TEST(a_batch_with_a_key_that_is_already_stored_is_refused_as_a_whole)
{
    struct world *world = *state;
    struct generated_key keys[2] = {{.public_key = built_key(2)}, {.public_key = built_key(1)}};
    store(world, 1, 1);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        memcpy(keys[i].sealed.key_id, "00000000000000aa", KEY_ID_SIZE);
    assert_int_equal(session_begin(&world->session, NULL), ERR_OK);
    assert_int_equal(accounts_store(world->session.db, keys, NULL, ARRAY_LEN(keys), 0, NULL), ERR_CONSTRAINT);
    db_rollback(world->session.db);
    assert_int_equal(pool_counts(world).creating, 1);
}

TEST(H7_idle_accounts_retire_first_and_high_slots_before_low_ones)
{
    struct world *world = *state;
    ten_active(world, 7);
    assert_int_equal(retire(world, 2), 2);
    assert_int_equal(
        test_db_number(&world->db,
            "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'retiring' AND slot >= 8"),
        2);
    assert_int_equal(retire(world, 2), 2);
    assert_int_equal(test_db_number(&world->db, "SELECT slot::int8 FROM fairway.channel_accounts"
                                                " WHERE state = 'retiring' AND lease_hash IS NOT NULL"),
        6);
    struct pool_counts after = pool_counts(world);
    assert_int_equal(after.active, 6);
    assert_int_equal(after.retiring, 4);
    assert_int_equal(after.retiring_leased, 1);
    struct account_batch batch;
    assert_int_equal(accounts_pick(world->session.db, PROVISIONING_MERGE, 18, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 3); /* not the leased one */
    assert_int_equal(retire(world, 0), 0);
}

TEST(retirement_skips_an_account_that_a_grant_has_locked)
{
    struct world *world = *state;
    ten_active(world, 0);
    AUTO_DB grant = test_db_open(&world->db);
    assert_int_equal(db_begin(grant, NULL), ERR_OK);
    assert_int_equal(
        db_query(
            grant, DB_SQL0("SELECT 1 FROM fairway.channel_accounts WHERE slot >= 4 FOR UPDATE"), NULL, NULL),
        ERR_OK);
    assert_int_equal(retire(world, 10), 4);
    db_rollback(grant);
    assert_int_equal(retire(world, 6), 6);
}

TEST(a_quarantined_account_keeps_its_slot_whether_it_was_created_or_not)
{
    struct world *world = *state;
    ten_active(world, 0);
    assert_int_equal(retire(world, 2), 2);
    store(world, 11, 2);
    for (enum provisioning_kind kind = PROVISIONING_CREATION; kind <= PROVISIONING_MERGE; kind++) {
        struct account_batch batch, rest;
        assert_int_equal(session_begin(&world->session, NULL), ERR_OK);
        assert_int_equal(accounts_pick(world->session.db, kind, 2, &batch, NULL), ERR_OK);
        assert_int_equal(accounts_lock(world->session.db, kind, &batch, NULL), ERR_OK);
        assert_int_equal(accounts_quarantine(world->session.db, batch.keys, 1, "test", NULL), ERR_OK);
        assert_int_equal(db_commit(world->session.db, NULL), ERR_OK);
        assert_int_equal(accounts_pick(world->session.db, kind, 2, &rest, NULL), ERR_OK);
        assert_int_equal(rest.count, 1);
        assert_true(public_key_equal(&rest.keys[0], &batch.keys[1]));
    }
    const struct pool_counts after = pool_counts(world);
    assert_int_equal(after.active, 8);
    assert_int_equal(after.creating, 1);
    assert_int_equal(after.retiring, 1);
    assert_int_equal(after.quarantined, 2);
    assert_int_equal(test_db_number(&world->db, "SELECT count(sequence) FROM fairway.channel_accounts"
                                                " WHERE quarantine_reason = 'test' AND slot IN (8, 10)"),
        1);
}

/* A merge of accounts 1 and 2; its source is account 3, which is leased for it, or the distribution account.
 */
static enum err store_provisioning(struct world *world, uint64_t n, bool bumped)
{
    struct provisioning_tx transaction = {.kind = PROVISIONING_MERGE,
        .distribution = built_key(1000),
        .bumped = bumped,
        .source = built_key(3),
        .sequence = 5,
        .max_time_s = 77,
        .account_count = 2,
        .accounts = {built_key(1), built_key(2)}};
    struct hash hash = built_hash(n);
    uint8_t envelope[] = {1, 2, 3, (uint8_t)n};
    enum err e = session_begin(&world->session, NULL);
    if (e == ERR_OK && (e = provisioning_store(
                            world->session.db, &transaction, 1, BYTES_OF(envelope), &hash, NULL)) == ERR_OK)
        return db_commit(world->session.db, NULL);
    db_rollback(world->session.db);
    return e;
}

static struct provisioning_outcomes outcomes_after(struct world *world, uint32_t ledger)
{
    struct provisioning_outcomes outcomes;
    assert_int_equal(provisioning_read_outcomes(world->session.db, ledger, &outcomes, NULL), ERR_OK);
    return outcomes;
}

TEST(each_source_has_one_pending_transaction_which_is_read_back_as_stored)
{
    struct world *world = *state;
    struct provisioning_list list CLEANUP(provisioning_pending_free) = {0};
    ten_active(world, 0);
    char distribution[ADDRESS_SIZE];
    struct public_key key = built_key(1000);
    address_encode(&key, distribution);
    AUTO_FREE char *sql = mem_format(
        "INSERT INTO fairway.network (passphrase, distribution_account) VALUES ('p', '%s')", distribution);
    test_db_exec(&world->db, sql);
    assert_int_equal(session_read_pending(&world->session, &list, NULL), ERR_OK);
    assert_int_equal(list.count, 0);
    provisioning_pending_free(&list);
    assert_int_equal(store_provisioning(world, 1, false), ERR_OK);
    assert_int_equal(store_provisioning(world, 2, false), ERR_CONSTRAINT);
    assert_int_equal(store_provisioning(world, 3, true), ERR_OK);
    assert_int_equal(store_provisioning(world, 4, true), ERR_CONSTRAINT);
    assert_int_equal(pool_counts(world).merges_pending, 4);
    assert_int_equal(pool_counts(world).leased, 1);
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.leases l JOIN"
                                   " fairway.channel_accounts a ON a.public_key = l.account AND"
                                   " a.lease_hash = l.hash AND l.sequence = 5 AND l.max_time = 77"),
        1);
    assert_int_equal(session_read_pending(&world->session, &list, NULL), ERR_OK);
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct provisioning_pending *item = &list.items[i];
        const uint8_t n = i == 0 ? 1 : 3;
        struct hash hash = built_hash(n);
        assert_true(
            hash_equal(&item->hash, &hash) && item->kind == PROVISIONING_MERGE && item->accounts == 2);
        assert_int_equal(item->bumped, i == 1);
        assert_true(bytes_equal(buf_bytes(&item->envelope), BYTES_OF(((uint8_t[]){1, 2, 3, n}))));
    }
    struct provisioning_outcomes outcomes = outcomes_after(world, 0);
    assert_true(outcomes.succeeded + outcomes.failed + outcomes.expired == 0);
    test_db_exec(&world->db,
        "UPDATE fairway.provisioning SET state = 'expired', ledger = 8 WHERE id = 1;"
        "UPDATE fairway.provisioning SET state = 'failed', result_code = 'txFAILED', ledger = 9"
        " WHERE id > 1");
    outcomes = outcomes_after(world, 7);
    assert_true(outcomes.succeeded == 0 && outcomes.failed == 1 && outcomes.expired == 1);
    assert_string_equal(outcomes.text, "2 accounts not merged: txFAILED in ledger 9");
    assert_int_equal(outcomes_after(world, 8).expired, 0);
    assert_int_equal(pool_counts(world).merges_pending, 0);
    assert_int_equal(store_provisioning(world, 2, false), ERR_OK);
}

TEST(DP2_one_session_has_the_lock_until_it_ends)
{
    struct world *world = *state;
    struct session other = new_session(world);
    assert_int_equal(session_take(&other, NULL), ERR_NOT_LEADER);
    assert_int_equal(session_take(&world->session, NULL), ERR_OK);
    session_free(&world->session);
    world->session = new_session(world);
    enum err e;
    while ((e = session_take(&other, NULL)) == ERR_NOT_LEADER)
        ;
    assert_int_equal(e, ERR_OK);
    assert_int_equal(session_take(&world->session, NULL), ERR_NOT_LEADER);
    session_free(&other);
}

TEST(Z4_a_lock_lost_with_its_connection_is_detected_before_anything_is_written)
{
    struct world *world = *state;
    test_db_exec(&world->db, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
    enum err e = session_begin(&world->session, NULL);
    assert_true(e == ERR_NOT_YET || e == ERR_DATABASE_UNAVAILABLE);
    assert_false(world->session.locked);
    assert_int_equal(session_take(&world->session, NULL), ERR_OK);
    /* lost silently: another statement reconnected */
    db_disconnect(world->session.db);
    assert_int_equal(pool_counts(world).active, 0);
    assert_int_equal(session_begin(&world->session, NULL), ERR_NOT_YET);
    assert_false(world->session.locked);
    assert_int_equal(session_take(&world->session, NULL), ERR_OK);
    assert_int_equal(session_begin(&world->session, NULL), ERR_OK);
    db_rollback(world->session.db);
}

TEST(pool_counts_include_the_cursor_and_a_time_no_earlier_than_its_ledger)
{
    struct world *world = *state;
    assert_int_equal(pool_counts(world).cursor_sequence, 0);
    assert_true(pool_counts(world).now_s > 1700000000);
    test_db_exec(&world->db,
        "INSERT INTO fairway.ledgers VALUES (7, sha256(''), 28, 9000000000, 0);"
        "INSERT INTO fairway.cursor (sequence, hash, close_time) VALUES (7, sha256(''), 9000000000)");
    assert_int_equal(pool_counts(world).cursor_sequence, 7);
    assert_true(pool_counts(world).now_s == 9000000000);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
