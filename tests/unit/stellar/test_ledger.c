/* Rules of stellar/ledger.h for whole ledgers: proofs, strictness. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "ledger_meta.h"
#include "xdr/xdr.h"

static const struct test_transaction two[] = {
    {.hash = 1, .code = -1},
    {.hash = 2, .code = 1, .inner_hash = 3, .inner_code = 0},
};

static const struct test_meta sample = {.version = 2,
    .sequence = 77,
    .close_time_s = 1700000000,
    .transaction_count = ARRAY_LEN(two),
    .transactions = two};

static struct test_meta version(uint32_t version)
{
    struct test_meta meta = sample;
    meta.version = version;
    return meta;
}

static struct ledger decoded(const struct test_meta *meta)
{
    struct buf bytes CLEANUP(buf_free) = meta_build(meta);
    struct ledger ledger;
    struct detail detail = {0};
    enum err e = ledger_decode(buf_bytes(&bytes), NULL, &ledger, &detail);
    assert_string_equal(detail.text, "");
    assert_int_equal(e, ERR_OK);
    return ledger;
}

static struct public_key key(uint8_t byte)
{
    struct public_key out;
    memset(out.bytes, byte, sizeof out.bytes);
    return out;
}

TEST(header_fields_and_proofs_of_every_version)
{
    for (uint32_t v = 0; v <= 2; v++) {
        struct test_meta meta = version(v);
        struct ledger ledger CLEANUP(ledger_free) = decoded(&meta);
        assert_int_equal(ledger.meta_version, v);
        assert_int_equal(ledger.protocol, 27);
        assert_int_equal(ledger.sequence, 77);
        assert_int_equal(ledger.close_time_s, 1700000000);
        assert_int_equal(ledger.base_reserve_stroops, 5000001);
        assert_int_equal(ledger.previous_hash.bytes[31], 0xee);
        assert_true(ledger.hash_proved);
        assert_true(ledger.results_proved);
        assert_int_equal(ledger.transaction_count, 2);
    }
}

TEST(results_name_the_inner_transaction_of_a_fee_bump)
{
    static const struct test_transaction results[] = {
        {.hash = 1, .code = -1},
        {.hash = 2, .code = 1, .inner_hash = 3, .inner_code = 0},
        {.hash = 4, .code = -13, .inner_hash = 5, .inner_code = -8},
        {.hash = 6, .code = -11},
    };
    struct test_meta meta = {.version = 1, .transaction_count = ARRAY_LEN(results), .transactions = results};
    struct ledger ledger CLEANUP(ledger_free) = decoded(&meta);
    assert_true(ledger.results_proved);
    assert_int_equal(ledger.transaction_count, ARRAY_LEN(results));
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        const struct ledger_transaction *transaction = &ledger.transactions[i];
        assert_int_equal(transaction->hash.bytes[0], results[i].hash);
        assert_int_equal(transaction->code, results[i].code);
        assert_int_equal(transaction->fee_bump, results[i].inner_hash != 0);
        assert_int_equal(transaction->inner_hash.bytes[31], results[i].inner_hash);
        assert_int_equal(transaction->inner_code, results[i].inner_code);
    }
}

static size_t offset_of_key(struct bytes bytes, uint8_t byte)
{
    struct public_key wanted = key(byte);
    for (size_t at = 0; at + 32 <= bytes.len; at++)
        if (memcmp(bytes.data + at, wanted.bytes, 32) == 0)
            return at;
    fail_msg("no such key");
    return 0;
}

TEST(a_changed_header_or_result_fails_its_proof_only)
{
    struct buf bytes CLEANUP(buf_free) = meta_build(&sample);
    size_t previous_hash = offset_of_key(buf_bytes(&bytes), 0xee);
    size_t result = offset_of_key(buf_bytes(&bytes), 2);
    struct ledger ledger;

    bytes.data[previous_hash] ^= 1;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, NULL), ERR_OK);
    assert_false(ledger.hash_proved);
    assert_true(ledger.results_proved);
    ledger_free(&ledger);
    bytes.data[previous_hash] ^= 1;

    bytes.data[result] ^= 1;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, NULL), ERR_OK);
    assert_true(ledger.hash_proved);
    assert_false(ledger.results_proved);
    ledger_free(&ledger);
}

/* Without a transaction, a confirmed lease would look expired. */
TEST(missing_results_fail_the_proof)
{
    struct test_meta fewer = sample;
    fewer.transaction_count = 1;
    CLEANUP(buf_free) struct buf whole = meta_build(&sample), cut = meta_build(&fewer);
    size_t header_end = offset_of_key(buf_bytes(&whole), 0xcc);
    memcpy(cut.data, whole.data, header_end); /* up to the bucket list hash, with the hash of both results */
    struct ledger ledger CLEANUP(ledger_free);
    assert_int_equal(ledger_decode(buf_bytes(&cut), NULL, &ledger, NULL), ERR_OK);
    assert_true(ledger.hash_proved);
    assert_false(ledger.results_proved);
}

/* ledger_decode reads part by part; the schema describes the whole. */
TEST(exactly_the_ledgers_that_the_schema_accepts_decode)
{
    for (uint32_t v = 0; v <= 2; v++) {
        struct test_meta meta = version(v);
        struct buf bytes CLEANUP(buf_free) = meta_build(&meta);
        size_t accepted = 0;
        for (size_t bit = 0; bit < bytes.len * 8; bit++) {
            struct ledger ledger;
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            enum err e = ledger_decode(buf_bytes(&bytes), NULL, &ledger, NULL);
            assert_int_equal(e == ERR_OK, xdr_check(XDR_LedgerCloseMeta, buf_bytes(&bytes)) == ERR_OK);
            assert_true(e == ERR_OK || ledger.transactions == NULL);
            accepted += e == ERR_OK;
            ledger_free(&ledger);
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_in_range(accepted, bytes.len, bytes.len * 8 - 1);
    }
}

TEST(every_truncation_and_trailing_bytes_are_refused)
{
    for (uint32_t v = 0; v <= 2; v++) {
        struct test_meta meta = version(v);
        struct buf bytes CLEANUP(buf_free) = meta_build(&meta);
        struct ledger ledger;
        for (size_t len = 0; len < bytes.len; len++)
            assert_int_equal(
                ledger_decode((struct bytes){bytes.data, len}, NULL, &ledger, NULL), ERR_XDR_TRUNCATED);
        buf_add_u32(&bytes, 0);
        assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, NULL), ERR_XDR_TRAILING);
    }
}

TEST(an_unknown_version_or_arm_names_its_position)
{
    struct buf bytes CLEANUP(buf_free) = meta_build(&sample);
    struct ledger ledger;
    struct detail detail;
    bytes.data[3] = 3;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, &detail), ERR_XDR_UNKNOWN_ARM);
    assert_non_null(strstr(detail.text, "LedgerCloseMeta 3 at byte 0 of"));
    bytes.data[3] = 2;
    size_t code = offset_of_key(buf_bytes(&bytes), 2) + 32 + 8;
    bytes.data[code + 3] = 2;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, &detail), ERR_XDR_UNKNOWN_ARM);
    AUTO_FREE char *where = mem_format("TransactionResultResult 2 at byte %zu of %zu", code, bytes.len);
    assert_non_null(strstr(detail.text, where));
}

/* The count of transactions comes before the first of them. */
TEST(a_count_of_4_billion_transactions_allocates_nothing)
{
    struct test_meta empty = {.version = 0};
    struct buf bytes CLEANUP(buf_free) = meta_build(&empty);
    size_t count = bytes.len - 4 /* scpInfo */ - 16 /* upgrade */ - 4;
    memset(bytes.data + count, 0xff, 4);
    struct ledger ledger;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), NULL, &ledger, NULL), ERR_XDR_TRUNCATED);
}
