/* What the key process signs and what it refuses: the real program with its sandbox, through keyd.h. */
#include <string.h>
#include <time.h>

#include "check.h"
#include <sodium.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "support/keyd.h"
#include "unit/stellar/sample.h"

static uint64_t now_s; /* when the tests began; the key process has the clock of this host */
static struct keyd *serving, *provisioning;
static struct generated_key accounts[3];
static struct network_id network;

/* A valid lease of accounts[at]; tests make one thing in it invalid. */
static struct lease_signing good_lease(size_t at, struct buf *transaction)
{
    lease_transaction(&accounts[at].public_key, now_s + 60, transaction);
    return (struct lease_signing){.transaction = buf_bytes(transaction),
        .signer = accounts[at].public_key,
        .sealed = accounts[at].sealed,
        .result = ERR_INTERNAL};
}

static void sign(struct lease_signing items[], size_t count)
{
    assert_int_equal(keyd_sign_leases(serving, now_s, 0, items, count), ERR_OK);
}

TEST(a_lease_is_signed_for_its_own_hash)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    struct lease_signing item = good_lease(0, &transaction);
    struct hash hash = transaction_hash(&network, item.transaction);
    sign(&item, 1);
    assert_int_equal(item.result, ERR_OK);
    assert_true(hash_equal(&item.hash, &hash));
    assert_true(signature_valid(&item.signature, &hash, &item.signer));
}

/* One way to make an item invalid, and the error that keyd must return for it. */
struct spoiling {
    const char *name;
    enum err expected;
    void (*spoil)(struct lease_signing *item, struct buf *transaction);
};

static void spoil_row(struct lease_signing *item, struct buf *transaction)
{
    item->sealed = accounts[2].sealed;
}

static void spoil_source(struct lease_signing *item, struct buf *transaction)
{
    buf_clear(transaction);
    lease_transaction(&accounts[2].public_key, now_s + 60, transaction);
    item->transaction = buf_bytes(transaction);
}

static void spoil_end(struct lease_signing *item, struct buf *transaction)
{
    item->transaction.len -= 4;
}

/* What else keyd refuses is in test_keyd_hostile. */
static const struct spoiling spoilings[] = {
    {"another account's sealed seed", ERR_SEAL_BROKEN, spoil_row},
    {"another source than the signer", ERR_INVALID_TRANSACTION, spoil_source},
    {"a truncated transaction", ERR_INVALID_TRANSACTION_XDR, spoil_end},
};

TEST(each_bad_item_fails_alone_in_its_batch)
{
    const struct signature none = {0};
    for (size_t i = 0; i < ARRAY_LEN(spoilings); i++) {
        struct buf transactions[3] = {0};
        struct lease_signing items[3];
        for (size_t at = 0; at < 3; at++)
            items[at] = good_lease(at == 2 ? 0 : at, &transactions[at]);
        spoilings[i].spoil(&items[1], &transactions[1]);
        items[1].signature = none;
        sign(items, 3);
        if (items[1].result != spoilings[i].expected)
            fail_msg("%s: %s", spoilings[i].name, err_code(items[1].result));
        assert_memory_equal(&items[1].signature, &none, sizeof none);
        assert_int_equal(items[0].result, ERR_OK);
        assert_int_equal(items[2].result, ERR_OK);
        for (size_t at = 0; at < 3; at++)
            buf_free(&transactions[at]);
    }
}

/* ---- fee bumps */

/* A signed lease as a client submits it. */
static void signed_lease(size_t at, struct buf *envelope)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    struct lease_signing item = good_lease(at, &transaction);
    sign(&item, 1);
    assert_int_equal(item.result, ERR_OK);
    envelope_build(item.transaction, &item.signer, &item.signature, 1, envelope);
}

static enum err bump(
    const struct buf *inner, size_t sealed_of, int64_t fee, struct buf *out, struct hash *hash)
{
    struct bump_signing item = {
        .inner = buf_bytes(inner), .sealed = accounts[sealed_of].sealed, .fee_stroops = fee, .envelope = out};
    assert_int_equal(keyd_sign_fee_bumps(serving, 0, &item, 1), ERR_OK);
    assert_true(item.result == ERR_OK || item.detail.text[0] != '\0');
    *hash = item.hash;
    return item.result;
}

TEST(a_fee_bump_is_paid_by_the_distribution_account)
{
    CLEANUP(buf_free) struct buf inner = {0}, outer = {0}, body = {0};
    struct envelope envelope;
    struct hash hash;
    struct public_key distribution = keyd_distribution();
    signed_lease(0, &inner);
    assert_int_equal(bump(&inner, 0, 100000, &outer, &hash), ERR_OK);
    assert_int_equal(envelope_decode(buf_bytes(&inner), &envelope, NULL), ERR_OK);
    fee_bump_build(&envelope, &distribution, 100000, &body);
    struct hash expected = fee_bump_hash(&network, buf_bytes(&body));
    assert_true(hash_equal(&hash, &expected));
    assert_memory_equal(outer.data + 4, body.data, body.len);
    assert_int_equal(envelope_decode(buf_bytes(&outer), &envelope, NULL), ERR_OK);
    assert_int_equal(envelope.form, ENVELOPE_FEE_BUMP);
    struct signature signature;
    memcpy(signature.bytes, outer.data + outer.len - sizeof signature, sizeof signature);
    assert_true(signature_valid(&signature, &hash, &distribution));
}

/* In one message: the same bytes as of a fee bump that is asked for afterwards. */
TEST(a_lease_with_a_bid_has_the_fee_bump_of_what_was_signed)
{
    struct buf transaction = {0}, inner = {0}, outer = {0}, bids[2] = {{0}};
    struct hash hash;
    struct lease_signing items[2];
    items[0] = items[1] = good_lease(0, &transaction);
    items[0].bid_fee_stroops = 5000;
    items[0].bid_envelope = &bids[0];
    items[1].bid_envelope = &bids[1]; /* without a bid */
    sign(items, 2);
    assert_int_equal(items[0].result, ERR_OK);
    assert_int_equal(items[1].result, ERR_OK);
    assert_int_equal(bids[1].len, 0);
    envelope_build(items[0].transaction, &items[0].signer, &items[0].signature, 1, &inner);
    assert_int_equal(bump(&inner, 0, 5000, &outer, &hash), ERR_OK);
    assert_true(hash_equal(&hash, &items[0].bid_hash));
    assert_true(bytes_equal(buf_bytes(&outer), buf_bytes(&bids[0])));
    buf_free(&transaction);
    buf_free(&inner);
    buf_free(&outer);
    buf_free(&bids[0]);
}

TEST(with_a_bid_above_the_maximum_not_even_the_lease_is_signed)
{
    const int64_t most = keyd_test_settings().max_bump_fee_stroops;
    const struct {
        int64_t fee_stroops;
        enum err expected;
    } bids[] = {{most, ERR_OK}, {most + 1, ERR_FEE_EXCEEDS_MAXIMUM}, {-1, ERR_FEE_EXCEEDS_MAXIMUM},
        {INT64_MAX, ERR_FEE_EXCEEDS_MAXIMUM}};
    const struct signature none = {0};
    for (size_t i = 0; i < ARRAY_LEN(bids); i++) {
        CLEANUP(buf_free) struct buf transaction = {0}, bid = {0};
        struct lease_signing item = good_lease(0, &transaction);
        item.bid_fee_stroops = bids[i].fee_stroops;
        item.bid_envelope = &bid;
        sign(&item, 1);
        assert_int_equal(item.result, bids[i].expected);
        assert_int_equal(bid.len > 0, item.result == ERR_OK);
        if (item.result != ERR_OK)
            assert_memory_equal(&item.signature, &none, sizeof none);
    }
}

/* The largest batch, with items that are refused in between. */
TEST(each_fee_bump_of_a_batch_has_its_own_result)
{
    enum {
        COUNT = SIGN_BATCH_MAX
    };
    struct bump_signing items[COUNT];
    struct buf envelopes[COUNT] = {{0}};
    CLEANUP(buf_free) struct buf inner = {0}, alone = {0};
    struct hash hash;
    signed_lease(0, &inner);
    for (size_t i = 0; i < COUNT; i++)
        items[i] = (struct bump_signing){.inner = buf_bytes(&inner),
            .sealed = accounts[i % 7 == 3 ? 1 : 0].sealed,
            .fee_stroops = 1000 + (int64_t)i,
            .envelope = &envelopes[i]};
    items[5].inner.len -= 4;
    assert_int_equal(keyd_sign_fee_bumps(serving, 0, items, COUNT), ERR_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i].result, i == 5       ? ERR_INVALID_TRANSACTION_XDR
                                          : i % 7 == 3 ? ERR_SEAL_BROKEN
                                                       : ERR_OK);
        assert_int_equal(envelopes[i].len > 0, items[i].result == ERR_OK);
    }
    assert_int_equal(bump(&inner, 0, 1000 + COUNT - 1, &alone, &hash), ERR_OK);
    assert_true(hash_equal(&hash, &items[COUNT - 1].hash));
    assert_true(bytes_equal(buf_bytes(&alone), buf_bytes(&envelopes[COUNT - 1])));
    for (size_t i = 0; i < COUNT; i++)
        buf_free(&envelopes[i]);
}

/* ---- creation and merge */

static struct provisioning_tx good_transaction(enum provisioning_kind kind)
{
    return (struct provisioning_tx){.kind = kind,
        .distribution = keyd_distribution(),
        .sequence = 5,
        .fee_stroops = 900,
        .max_time_s = now_s + LEASE_SECONDS_MAX,
        .account_count = 3,
        .accounts = {accounts[0].public_key, accounts[1].public_key, accounts[2].public_key}};
}

static enum err sign_provisioning(const struct provisioning_tx *transaction,
    const struct sealed_seed sealed[], struct buf *out, struct hash *hash)
{
    uint32_t broken;
    struct detail detail = {0};
    enum err e =
        keyd_sign_provisioning(provisioning, now_s, transaction, sealed, out, hash, &broken, &detail);
    assert_true(e == ERR_OK || detail.text[0] != '\0');
    return e;
}

TEST(creation_and_merge_carry_every_signature)
{
    const struct sealed_seed sealed[] = {accounts[0].sealed, accounts[1].sealed, accounts[2].sealed};
    for (int kind = PROVISIONING_CREATION; kind <= PROVISIONING_MERGE; kind++) {
        const struct provisioning_tx transaction = good_transaction((enum provisioning_kind)kind);
        CLEANUP(buf_free) struct buf out = {0}, built = {0};
        struct hash hash;
        struct envelope envelope;
        provisioning_tx_build(&transaction, &built);
        struct hash expected = transaction_hash(&network, buf_bytes(&built));
        assert_int_equal(sign_provisioning(&transaction, sealed, &out, &hash), ERR_OK);
        assert_true(hash_equal(&hash, &expected));
        assert_int_equal(envelope_decode(buf_bytes(&out), &envelope, NULL), ERR_OK);
        assert_int_equal(envelope.signature_count, 4);
        assert_true(envelope_signed_by(&envelope, &transaction.distribution, &hash));
        for (size_t i = 0; i < 3; i++)
            assert_true(envelope_signed_by(&envelope, &accounts[i].public_key, &hash));
    }
}

TEST(a_provisioning_error_names_the_seed_that_does_not_open)
{
    const struct provisioning_tx transaction = good_transaction(PROVISIONING_MERGE);
    for (uint32_t i = 0; i < ARRAY_LEN(accounts); i++) {
        struct sealed_seed sealed[] = {accounts[0].sealed, accounts[1].sealed, accounts[2].sealed};
        struct buf out = {0};
        struct hash hash;
        uint32_t broken = UINT32_MAX;
        sealed[i].box[SEAL_SIZE - 1] ^= 1;
        sealed[ARRAY_LEN(accounts) - 1].box[0] ^= 1; /* the first one is reported */
        assert_int_equal(
            keyd_sign_provisioning(provisioning, now_s, &transaction, sealed, &out, &hash, &broken, NULL),
            ERR_SEAL_BROKEN);
        assert_int_equal(broken, i);
        assert_int_equal(out.len, 0);
    }
}

/* ---- speed */

static int set_up(void **state)
{
    now_s = (uint64_t)time(NULL);
    network = network_id_of(KEYD_TEST_PASSPHRASE);
    provisioning = keyd_loaded(KEYD_PROVISION);
    serving = keyd_loaded(KEYD_SERVE);
    return sodium_init() >= 0 && keyd_generate(provisioning, ARRAY_LEN(accounts), accounts) == ERR_OK ? 0
                                                                                                      : -1;
}

static int tear_down(void **state)
{
    keyd_stop(serving);
    keyd_stop(provisioning);
    return 0;
}

GROUP_FIXTURE(set_up, tear_down)
