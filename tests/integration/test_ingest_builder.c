/* The ledgers that support/ledger_builder builds for other tests decode, with correct hashes, in each version
 * of the metadata. */
#include "check.h"
#include "base/mem.h"
#include "stellar/ledger.h"
#include "support/ledger_builder.h"

static struct ledger decode(const struct built_ledger *built, struct hash *hash)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    struct buf meta = {0};
    struct ledger ledger;
    struct detail detail = {0};
    ledger_build(built, &meta, hash);
    enum err e = ledger_decode(buf_bytes(&meta), &network, &ledger, &detail);
    buf_free(&meta);
    if (e != ERR_OK)
        fail_msg("metadata %u: %s", built->meta_version, detail.text);
    return ledger;
}

TEST(a_built_ledger_has_correct_hashes_in_each_version_of_the_metadata)
{
    for (uint32_t version = 0; version <= 2; version++) {
        struct hash hash, previous = built_hash(1);
        const struct built_ledger built = {
            .meta_version = version, .sequence = 7, .previous_hash = previous, .close_time_s = 1234567890123};
        struct ledger ledger CLEANUP(ledger_free) = decode(&built, &hash);
        assert_int_equal(ledger.meta_version, version);
        assert_int_equal(ledger.sequence, 7);
        assert_int_equal(ledger.close_time_s, 1234567890123);
        assert_int_equal(ledger.protocol, 28);
        assert_true(hash_equal(&ledger.hash, &hash));
        assert_true(hash_equal(&ledger.previous_hash, &previous));
        assert_true(ledger.hash_proved && ledger.results_proved && ledger.set_proved);
        assert_false(ledger.value.upgrades_config);
    }
}

TEST(a_built_ledger_that_freezes_accounts_has_an_upgrade_in_its_value)
{
    const struct public_key frozen = built_key(1);
    struct hash hash;
    struct ledger ledger CLEANUP(ledger_free) =
        decode(&(struct built_ledger){.meta_version = 2, .frozen = &frozen, .frozen_count = 1}, &hash);
    assert_true(ledger.hash_proved && ledger.value.upgrades_config);
}

TEST(a_built_ledger_has_the_given_transactions_and_one_for_each_other_change)
{
    const struct built_transaction transactions[] = {
        {.hash = built_hash(1), .code = 0},
        {.hash = built_hash(2), .has_inner = true, .inner_hash = built_hash(3), .code = -1},
        {.hash = built_hash(4), .code = -5},
    };
    const struct built_account accounts[] = {
        {.key = built_key(1), .sequence = 11, .created = true},
        {.key = built_key(2), .sequence = 12, .balance_stroops = 5},
        {.key = built_key(3), .removed = true},
        {.key = built_key(4), .sequence = 14, .foreign_signer = true},
        {.key = built_key(5), .sequence = 15, .invented = true},
        {.key = built_key(6), .sequence = 16},
    };
    const enum ledger_deed deeds[] = {DEED_CREATED, DEED_MERGED, DEED_OTHER};
    for (uint32_t version = 0; version <= 2; version++)
        for (size_t count = 0; count <= ARRAY_LEN(transactions); count += ARRAY_LEN(transactions)) {
            struct hash hash;
            const struct built_ledger built = {.meta_version = version,
                .sequence = 8,
                .close_time_s = 1,
                .transactions = transactions,
                .transaction_count = count,
                .accounts = accounts,
                .account_count = ARRAY_LEN(accounts)};
            struct ledger ledger CLEANUP(ledger_free) = decode(&built, &hash);
            assert_true(ledger.hash_proved && ledger.results_proved && ledger.set_proved);
            if (count != 0) {
                assert_true(hash_equal(&ledger.transactions[0].hash, &transactions[0].hash));
                assert_int_equal(ledger.transactions[0].code, 0);
                assert_true(ledger.transactions[1].fee_bump);
                assert_true(hash_equal(&ledger.transactions[1].inner_hash, &transactions[1].inner_hash));
                assert_int_equal(ledger.transactions[1].inner_code, -1);
                assert_int_equal(ledger.transactions[2].code, -5);
            }
            assert_int_equal(ledger.transaction_count, count + (count > 0 ? 4 : 5));
            size_t deed = 0, found = 0;
            for (size_t i = 0; i < ledger.operation_count && deed < ARRAY_LEN(deeds); i++)
                if (ledger.operations[i].deed == deeds[deed] &&
                    public_key_equal(&ledger.operations[i].account, &accounts[deed + (deed > 0)].key))
                    deed++;
            assert_int_equal(deed, ARRAY_LEN(deeds));
            for (size_t i = 0; i < ledger.transaction_count; i++)
                found += ledger.transactions[i].consumed &&
                         public_key_equal(&ledger.transactions[i].source, &accounts[5].key);
            assert_int_equal(found, 1);
        }
}
