/*
 * Quarantine, release and retirement on a real PostgreSQL: a probe of the network counts only if it is not
 * older than the cursor, and an operator's change never interferes with a grant, a ledger or provisioning.
 */
#include "support/pool.h"

#include <string.h>

#include "../../include/pool/accounts.h"
#include "pool/account_change.h"
#include "pool/provisioning.h"
#include "base/mem.h"
#include "pool/account_read.h"
#include "support/pool_seed.h"

#define ACCOUNTS 8

static struct test_pool pool;
static struct detail detail;

static int set_up(void **state)
{
    test_pool_open(&pool, ACCOUNTS);
    return 0;
}

static int tear_down(void **state)
{
    test_pool_close(&pool);
    return 0;
}

static enum err quarantine(struct db *db, size_t slot, const char *reason)
{
    return db_query(db,
        DB_SQL("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = $2"
               " WHERE slot = $1 AND state = 'active'",
            DB_I32((int32_t)slot), DB_TEXT(reason)),
        NULL, NULL);
}

/* Returns a probe as of the cursor that found the account as it was seeded. */
static struct account_probe fresh_probe(void)
{
    return (struct account_probe){.oldest = POOL_SEED_LEDGER,
        .ledger = POOL_SEED_LEDGER,
        .account = {.own_authority = true, .bare = true, .sequence = POOL_SEED_SEQUENCE}};
}

static int64_t number_of(const char *column, size_t slot)
{
    AUTO_FREE char *sql =
        mem_format("SELECT %s FROM fairway.channel_accounts WHERE slot = %zu", column, slot);
    return test_db_number(&pool.test, sql);
}

static bool in_state(size_t slot, const char *state)
{
    AUTO_FREE char *column = mem_format("(state = '%s')::int::int8", state);
    return number_of(column, slot) == 1;
}

static enum err change(size_t slot, enum account_change how, const struct account_probe *probe)
{
    return account_change_apply(pool.db, &pool.accounts[slot], how, probe, &detail);
}

TEST(a_quarantined_account_shows_its_reason_is_not_leased_and_can_be_released)
{
    static const char *const reasons[] = {"the network removed the account",
        "its sequence number was consumed by a transaction that fairway did not sign",
        "its signers or thresholds were changed", "missing on the network", "frozen by the network",
        "its sealed seed does not open"};
    for (size_t slot = 0; slot < ARRAY_LEN(reasons); slot++)
        assert_int_equal(quarantine(pool.db, slot, reasons[slot]), ERR_OK);
    struct asked asked[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++)
        ask(&pool, &asked[i]);
    assert_int_equal(test_pool_grant(&pool, asked, ACCOUNTS, &detail), ERR_OK);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        assert_int_equal(asked[i].grant.state, i < ACCOUNTS - ARRAY_LEN(reasons) ? GRANT_DONE : GRANT_OPEN);
        asked_wipe(&asked[i]);
    }
    struct account_shown page[ACCOUNTS];
    size_t count;
    assert_int_equal(
        account_read_page(pool.db, "quarantined", NULL, "", ACCOUNTS, page, &count, NULL), ERR_OK);
    assert_int_equal(count, ARRAY_LEN(reasons));
    for (size_t i = 0; i < count; i++)
        for (size_t slot = 0; slot < ARRAY_LEN(reasons); slot++) {
            char address[ADDRESS_SIZE];
            address_encode(&pool.accounts[slot], address);
            if (strcmp(address, page[i].public_key) == 0)
                assert_string_equal(page[i].reason, reasons[slot]);
        }
    const struct account_probe probe = fresh_probe();
    for (size_t slot = 0; slot < ARRAY_LEN(reasons); slot++) {
        assert_int_equal(change(slot, CHANGE_RELEASE, &probe), ERR_OK);
        assert_true(in_state(slot, "active"));
        assert_int_equal(change(slot, CHANGE_RELEASE, &probe), ERR_OK); /* again */
    }
    struct asked again CLEANUP(asked_wipe);
    ask(&pool, &again);
    assert_int_equal(test_pool_grant(&pool, &again, 1, &detail), ERR_OK);
    assert_int_equal(again.grant.state, GRANT_DONE);
}

TEST(a_probe_older_than_the_cursor_or_the_accounts_row_changes_nothing)
{
    static const enum account_change changes[] = {
        CHANGE_RELEASE, CHANGE_RETIRE_IF_FOUND, CHANGE_RETIRE, CHANGE_RETURN};
    assert_int_equal(quarantine(pool.db, 0, ACCOUNT_MOVED), ERR_OK);
    struct account_probe older = fresh_probe(), half = fresh_probe(), gone = fresh_probe();
    test_pool_close_ledger(pool.db, NULL);
    half.ledger++; /* the account was read later than the list of frozen keys */
    gone.account = (struct account_entry){.removed = true};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        assert_int_equal(change(0, changes[i], &older), ERR_LEDGER_AHEAD);
        assert_int_equal(change(0, changes[i], &half), ERR_LEDGER_AHEAD);
        assert_int_equal(change(0, changes[i], &gone), ERR_LEDGER_AHEAD);
    }
    test_db_exec(&pool.test, "UPDATE fairway.channel_accounts SET sequence_ledger = 1003 WHERE slot = 0");
    struct account_probe newer = fresh_probe();
    newer.oldest = newer.ledger = 1002; /* older than what an earlier probe wrote to the row */
    assert_int_equal(change(0, CHANGE_RELEASE, &newer), ERR_LEDGER_AHEAD);
    assert_int_equal(change(0, CHANGE_RETURN, &newer), ERR_LEDGER_AHEAD);
    assert_true(in_state(0, "quarantined"));
    assert_true(number_of("sequence", 0) == POOL_SEED_SEQUENCE);
    newer.oldest = newer.ledger = 1003;
    newer.account.sequence += 5;
    assert_int_equal(change(0, CHANGE_RELEASE, &newer), ERR_OK);
    assert_true(number_of("sequence", 0) == POOL_SEED_SEQUENCE + 5);
    assert_int_equal(number_of("sequence_ledger", 0), 1003);
    /* ledgers up to 1003 do not change the row */
    const struct built_account passed = {.key = pool.accounts[0], .sequence = POOL_SEED_SEQUENCE + 3};
    struct settled settled =
        test_pool_close_ledger(pool.db, &(struct built_ledger){.accounts = &passed, .account_count = 1});
    assert_int_equal(settled.quarantined, 0);
    assert_true(number_of("sequence", 0) == POOL_SEED_SEQUENCE + 5);
}

TEST(an_open_lease_survives_release_until_a_ledger_ends_it)
{
    struct asked asked CLEANUP(asked_wipe), other CLEANUP(asked_wipe);
    test_db_exec(&pool.test, "UPDATE fairway.channel_accounts SET state = 'retiring' WHERE slot > 0");
    ask(&pool, &asked);
    assert_int_equal(test_pool_grant(&pool, &asked, 1, &detail), ERR_OK);
    assert_int_equal(quarantine(pool.db, 0, "test"), ERR_OK);
    const struct account_probe probe = fresh_probe();
    assert_int_equal(change(0, CHANGE_RELEASE, &probe), ERR_OK);
    assert_non_null(strstr(detail.text, "open lease stays open"));
    assert_int_equal(leased_accounts(&pool), 1);
    ask(&pool, &other);
    assert_int_equal(test_pool_grant(&pool, &other, 1, &detail), ERR_OK);
    assert_int_equal(other.grant.state, GRANT_OPEN);
    const struct lease *lease = &asked.grant.lease;
    assert_int_equal(test_pool_include(pool.db, &lease, 1).confirmed, 1);
    assert_int_equal(leased_accounts(&pool), 0);
}

TEST(an_account_in_a_pending_provisioning_transaction_is_not_changed)
{
    struct provisioning_tx transaction = {
        .kind = PROVISIONING_MERGE, .sequence = 5, .max_time_s = 77, .account_count = 1};
    const struct hash hash = built_hash(1);
    const uint8_t envelope[] = {1};
    transaction.accounts[0] = pool.accounts[0];
    assert_int_equal(quarantine(pool.db, 0, "its signers or thresholds were changed"), ERR_OK);
    assert_int_equal(quarantine(pool.db, 1, "test"), ERR_OK);
    assert_int_equal(provisioning_store(pool.db, &transaction, 0, BYTES_OF(envelope), &hash, NULL), ERR_OK);
    const struct account_probe probe = fresh_probe();
    assert_int_equal(change(0, CHANGE_RELEASE, &probe), ERR_NOT_YET);
    assert_int_equal(change(0, CHANGE_RETIRE, &probe), ERR_NOT_YET);
    assert_true(in_state(0, "quarantined"));
    assert_int_equal(change(1, CHANGE_RELEASE, &probe), ERR_OK);
    test_db_exec(&pool.test, "UPDATE fairway.provisioning SET state = 'expired', ledger = 1");
    assert_int_equal(change(0, CHANGE_RELEASE, &probe), ERR_OK);
}

/* Transaction ids that this server has assigned so far: each try of a change takes one for its row locks. */
static int64_t assigned_xids(void)
{
    return test_db_number(&pool.test, "SELECT txid_snapshot_xmax(txid_current_snapshot())");
}

TEST(a_change_that_is_not_allowed_is_tried_once)
{
    struct provisioning_tx transaction = {
        .kind = PROVISIONING_MERGE, .sequence = 5, .max_time_s = 77, .account_count = 1};
    const struct hash hash = built_hash(1);
    const uint8_t envelope[] = {1};
    const struct account_probe probe = fresh_probe();
    struct account_probe frozen = probe;
    frozen.frozen = true;
    transaction.accounts[0] = pool.accounts[0];
    assert_int_equal(quarantine(pool.db, 0, "test"), ERR_OK);
    assert_int_equal(provisioning_store(pool.db, &transaction, 0, BYTES_OF(envelope), &hash, NULL), ERR_OK);
    const int64_t first = assigned_xids();
    assert_int_equal(change(0, CHANGE_RELEASE, &probe), ERR_NOT_YET);
    const int64_t second = assigned_xids();
    assert_int_equal(change(0, CHANGE_RELEASE, &frozen), ERR_REFUSED);
    assert_in_range(second - first, 1, 2); /* autovacuum may take one */
    assert_in_range(assigned_xids() - second, 1, 2);
}

TEST(a_stored_key_is_retired_unless_its_creation_is_pending)
{
    const struct hash hash = built_hash(1);
    const uint8_t envelope[] = {1};
    struct provisioning_tx transaction = {.kind = PROVISIONING_CREATION, .sequence = 5, .max_time_s = 77};
    transaction.accounts[transaction.account_count++] = pool.accounts[0];
    const struct account_probe nothing = {
        .oldest = POOL_SEED_LEDGER, .ledger = POOL_SEED_LEDGER, .account.removed = true};
    test_db_exec(&pool.test,
        "UPDATE fairway.channel_accounts"
        " SET state = 'creating', sequence = NULL, sequence_ledger = NULL WHERE slot < 2");
    assert_int_equal(provisioning_store(pool.db, &transaction, 0, BYTES_OF(envelope), &hash, NULL), ERR_OK);
    assert_int_equal(change(0, CHANGE_RETIRE, &nothing), ERR_NOT_YET);
    assert_true(in_state(0, "creating"));
    test_db_exec(&pool.test, "UPDATE fairway.cursor SET timeline = timeline - 1");
    assert_int_equal(change(1, CHANGE_RETIRE_IF_FOUND, &nothing), ERR_NOT_YET);
    test_db_exec(&pool.test, "UPDATE fairway.cursor SET timeline = timeline + 1");
    assert_int_equal(change(1, CHANGE_RETIRE_IF_FOUND, &nothing), ERR_NOT_FOUND);
    assert_true(in_state(1, "creating"));
    assert_int_equal(change(1, CHANGE_RETIRE, &nothing), ERR_OK);
    test_db_exec(&pool.test, "UPDATE fairway.provisioning SET state = 'expired', ledger = 1");
    assert_int_equal(change(0, CHANGE_RETIRE, &nothing), ERR_OK);
    assert_int_equal(
        test_db_number(&pool.test, "SELECT count(*) FROM fairway.channel_accounts WHERE state ="
                                   " 'retired' AND slot IS NULL AND octet_length(sealed_seed) = 72"),
        2);
}

/* An account that was picked while retiring may be quarantined, released and leased before its merge is
 * signed. */
TEST(provisioning_signs_nothing_for_an_account_that_has_changed_since_it_was_picked)
{
    struct account_batch batch;
    test_db_exec(&pool.test, "UPDATE fairway.channel_accounts SET state = 'retiring' WHERE slot < 3");
    assert_int_equal(accounts_pick(pool.db, PROVISIONING_MERGE, 3, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 3);
    assert_int_equal(db_begin(pool.db, NULL), ERR_OK);
    assert_int_equal(accounts_lock(pool.db, PROVISIONING_MERGE, &batch, NULL), ERR_OK);
    /* the row is locked: an operator's change waits */
    AUTO_DB other =
        db_new(&(struct db_settings){.url = pool.test.url, .name = "operator", .lock_timeout_ms = 200});
    const struct account_probe probe = fresh_probe();
    assert_int_equal(account_change_apply(other, &pool.accounts[1], CHANGE_RETIRE, &probe, &detail),
        ERR_DATABASE_UNAVAILABLE);
    db_rollback(pool.db);
    test_db_exec(&pool.test, "UPDATE fairway.channel_accounts SET state = 'active' WHERE slot = 1");
    assert_int_equal(db_begin(pool.db, NULL), ERR_OK);
    assert_int_equal(accounts_lock(pool.db, PROVISIONING_MERGE, &batch, NULL), ERR_NOT_YET);
    db_rollback(pool.db);
}

/* It reads the cursor, and judges the probe by it. */
TEST(a_change_waits_for_the_ledger_transaction_that_moves_the_cursor)
{
    const struct account_probe probe = fresh_probe();
    AUTO_DB ledger = test_db_open(&pool.test);
    AUTO_DB other =
        db_new(&(struct db_settings){.url = pool.test.url, .name = "operator", .lock_timeout_ms = 200});
    assert_int_equal(quarantine(pool.db, 0, "test"), ERR_OK);
    assert_int_equal(db_begin(ledger, NULL), ERR_OK);
    assert_int_equal(db_query(ledger, DB_SQL0("SELECT 1 FROM fairway.lock_cursor()"), NULL, NULL), ERR_OK);
    assert_int_equal(account_change_apply(other, &pool.accounts[0], CHANGE_RELEASE, &probe, &detail),
        ERR_DATABASE_UNAVAILABLE);
    db_rollback(ledger);
    assert_int_equal(account_change_apply(other, &pool.accounts[0], CHANGE_RELEASE, &probe, &detail), ERR_OK);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
