/* DR3: leases in ledgers of every form: all result codes, plain and in fee bumps, in every version of the
 * metadata. */
#include "check.h"

#include "base/mem.h"
#include "support/gap.h"

#define TX_SUCCESS 0
#define TX_FAILED (-1)
#define TX_FEE_BUMP_INNER_FAILED (-13) /* never an innermost result */
#define FOREIGN 100000                 /* hashes and keys from here on are not of the pool */

static int set_up(void **state)
{
    *state = gap_world_new();
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

/* The next ledger, closed by the network and committed. */
static void commit(struct gap_world *world, const struct built_ledger *ledger)
{
    ledger_feed_close(world->feed, ledger);
    if (gap_world_follow(world) != ERR_OK)
        fail_msg("%s", world->detail.text);
}

static int64_t open_leases(struct gap_world *world)
{
    return gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash");
}

/* Whether a result consumes the sequence number, by the rules of the protocol. */
static bool consumes(int32_t code)
{
    static const int32_t codes[] = {0, -1, -6, -7, -10, -11, -14, -15};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* Commits a ledger with one leased transaction of this result. The account's entry changes as on the
 * network. */
static void settle_one(struct gap_world *world, unsigned n, int32_t code, bool bumped)
{
    gap_leased(world, n);
    const struct built_transaction transaction = {.hash = built_hash(bumped ? FOREIGN + n : n),
        .has_inner = bumped,
        .inner_hash = built_hash(n),
        .code = code};
    const struct built_account account = {.key = built_key(n), .sequence = consumes(code) ? 51 : 50};
    commit(world,
        &(struct built_ledger){
            .transactions = &transaction, .transaction_count = 1, .accounts = &account, .account_count = 1});
}

TEST(DR3_every_result_plain_or_in_a_fee_bump_ends_the_lease_if_it_consumes_the_sequence_number)
{
    struct gap_world *world = *state;
    unsigned n = 0;
    size_t confirmed = 0, failed = 0, open = 0;
    for (int32_t code = 0; code >= -18; code--)
        for (int bumped = 0; bumped <= 1 && code != TX_FEE_BUMP_INNER_FAILED; bumped++) {
            settle_one(world, ++n, code, bumped);
            confirmed += code == TX_SUCCESS;
            failed += code != TX_SUCCESS && consumes(code);
            open += !consumes(code);
            assert_int_equal(world->settled.confirmed, code == TX_SUCCESS);
            assert_int_equal(world->settled.failed, code != TX_SUCCESS && consumes(code));
            assert_int_equal(world->settled.quarantined + world->settled.superseded, 0);
        }
    print_message("%u cases: %zu confirmed, %zu failed, %zu still open\n", n, confirmed, failed, open);
    assert_int_equal(n, 36);
    assert_int_equal(gap_count(world, "l.result = 'confirmed' AND l.result_code = 'txSUCCESS'"
                                      " AND a.lease_hash IS NULL AND a.sequence = 51 AND a.state = 'active'"),
        confirmed);
    assert_int_equal(
        gap_count(world, "l.result = 'failed' AND a.lease_hash IS NULL AND a.sequence = 51"), failed);
    assert_int_equal(open_leases(world), open);
}

TEST(DR3_two_of_our_transactions_are_found_among_a_thousand)
{
    struct gap_world *world = *state;
    enum {
        COUNT = 1002
    };
    struct built_transaction *transactions AUTO_FREE = NEW_ARRAY(COUNT, struct built_transaction);
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(COUNT, struct built_account);
    for (unsigned n = 1; n <= 3; n++)
        gap_leased(world, n);
    for (unsigned round = 0; round < 3; round++) { /* each version of the metadata */
        for (unsigned i = 0; i < COUNT; i++) {
            transactions[i] = (struct built_transaction){.hash = built_hash(FOREIGN + i),
                .has_inner = i % 3 == 0,
                .inner_hash = built_hash(2 * FOREIGN + i),
                .code = i % 5 == 0 ? TX_FAILED : TX_SUCCESS};
            accounts[i] = (struct built_account){.key = built_key(FOREIGN + i), .sequence = 900 + round};
        }
        if (round == 1) {
            transactions[0].hash = built_hash(1);
            transactions[0].has_inner = false;
            accounts[0] = (struct built_account){.key = built_key(1), .sequence = 51};
            transactions[COUNT - 1].has_inner = true;
            transactions[COUNT - 1].inner_hash = built_hash(2);
            accounts[COUNT - 1] = (struct built_account){.key = built_key(2), .sequence = 51};
        }
        commit(world, &(struct built_ledger){.transactions = transactions,
                          .transaction_count = COUNT,
                          .accounts = accounts,
                          .account_count = COUNT});
        assert_int_equal(world->settled.released, round == 1 ? 2 : 0);
        assert_int_equal(world->settled.quarantined, 0);
    }
    assert_int_equal(open_leases(world), 1);
}

TEST(DR3_a_foreign_transaction_with_the_same_sequence_number_supersedes_and_quarantines)
{
    struct gap_world *world = *state;
    for (unsigned n = 1; n <= 3; n++) {
        gap_leased(world, n);
        const struct built_transaction transaction = {.hash = built_foreign(n),
            .has_inner = n == 2,
            .inner_hash = built_foreign(n),
            .code = n == 3 ? TX_FAILED : TX_SUCCESS};
        const struct built_account account = {.key = built_key(n), .sequence = 51};
        commit(world, &(struct built_ledger){.transactions = &transaction,
                          .transaction_count = 1,
                          .accounts = &account,
                          .account_count = 1});
        assert_int_equal(world->settled.superseded, 1);
        assert_int_equal(world->settled.quarantined, 1);
    }
    assert_int_equal(gap_count(world, "l.result = 'superseded' AND a.lease_hash IS NULL AND a.sequence = 51"
                                      " AND a.state = 'quarantined'"),
        3);
}

/* The next transaction is built from this sequence number, so it must not be older than the release. */
TEST(H5_one_update_writes_the_sequence_number_and_releases_the_account)
{
    struct gap_world *world = *state;
    test_db_exec(&world->db,
        "CREATE TABLE public.updates (public_key text, released boolean, sequence int8, ledger int8);"
        "CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "
        "public.updates"
        " VALUES (NEW.public_key, OLD.lease_hash IS NOT NULL AND NEW.lease_hash IS NULL, NEW.sequence,"
        " NEW.sequence_ledger); RETURN NULL; END $$");
    gap_leased(world, 1);
    gap_leased(world, 2);
    test_db_exec(&world->db, "CREATE TRIGGER note AFTER UPDATE ON fairway.channel_accounts"
                             " FOR EACH ROW EXECUTE FUNCTION public.note()");
    const struct built_transaction transactions[] = {
        {.hash = built_hash(1)}, {.hash = built_hash(2), .code = TX_FAILED}};
    const struct built_account accounts[] = {
        {.key = built_key(1), .sequence = 51}, {.key = built_key(2), .sequence = 51}};
    commit(world,
        &(struct built_ledger){
            .transactions = transactions, .transaction_count = 2, .accounts = accounts, .account_count = 2});
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM public.updates"), 2);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM public.updates WHERE released"
                                                " AND sequence = 51 AND ledger = 101"),
        2);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
