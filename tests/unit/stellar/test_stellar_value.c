/* Rules of stellar/stellar_value.h: what is signed, on values of the public network and on made ones. */
#include <sodium.h>
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "base/text.h"
#include "stellar/stellar_value.h"

#define PUBLIC_PASSPHRASE "Public Global Stellar Network ; September 2015"

/* Of ledgers 51000294 (protocol 20) and 63092988 (protocol 26) of the public network. */
static const struct {
    const char *xdr, *node;
    uint64_t close_time_s;
} captured[] = {
    {"f26e0ea4830337817ac0faa37feaa5dec15fe3e82eb6091337f2dd8fb34960bf0000000066068a6f0000000000000001000000"
     "002b70fe414c70791bca940f8ff1bf480b15f1e5ae44db5b408a3d9229a14c9925000000409ff9645d705441fe43bd04deacd5"
     "d569ba252b3c64a8c1a010fa6958e1256610ebf5b47dbc9984f8316ef4e084a6fd495f612142c1ceb574699392e9f10f2b0c",
        "GAVXB7SBJRYHSG6KSQHY74N7JAFRL4PFVZCNWW2ARI6ZEKNBJSMSKW7C", 1711704687},
    {"0ebae606a92ada73a9ceb79aab5454ddec321f9da0b1945842c668190c4db7f3000000006a348b8600000000000000010000000"
     "0"
     "aa9e67d347b3a938c46c9f71c354e4547d89b0562876ca4fc15edb4d66978813000000405b30af15f7a7a0f9459019181d8013"
     "d5605981e2411e9bb540212c164c920208db691f75b6176684c258c0c9e6711e4ed211ddf78b7c1d36a7fcfc7b4a922a0e",
        "GCVJ4Z6TI6Z2SOGENSPXDQ2U4RKH3CNQKYUHNSSPYFPNWTLGS6EBH7I2", 1781828486},
};

#define CAPTURED_SIZE 152

static void unhex(size_t i, uint8_t out[static CAPTURED_SIZE])
{
    assert_int_equal(hex_decode(captured[i].xdr, strlen(captured[i].xdr), out, CAPTURED_SIZE), ERR_OK);
}

TEST(values_of_the_public_network_are_signed_by_their_nodes)
{
    const struct network_id network = network_id_of(PUBLIC_PASSPHRASE), other = network_id_of("another");
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        uint8_t xdr[CAPTURED_SIZE];
        struct stellar_value value;
        char node[ADDRESS_SIZE];
        unhex(i, xdr);
        assert_int_equal(stellar_value_decode(BYTES_OF(xdr), &value), ERR_OK);
        address_encode(&value.node, node);
        assert_string_equal(node, captured[i].node);
        assert_int_equal(value.kind, STELLAR_VALUE_SIGNED);
        assert_int_equal(value.close_time_s, captured[i].close_time_s);
        assert_int_equal(value.close_time_ms, captured[i].close_time_s * 1000);
        assert_false(value.times_differ || value.upgrades_config);
        assert_int_equal(value.upgrades_protocol, 0);
        assert_true(stellar_value_verify(&value, &network));
        assert_false(stellar_value_verify(&value, &other));
    }
}

TEST(a_flipped_bit_anywhere_in_a_signed_value_is_refused)
{
    const struct network_id network = network_id_of(PUBLIC_PASSPHRASE);
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        uint8_t xdr[CAPTURED_SIZE];
        struct stellar_value value;
        unhex(i, xdr);
        for (size_t bit = 0; bit < sizeof xdr * 8; bit++) {
            xdr[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (stellar_value_decode(BYTES_OF(xdr), &value) == ERR_OK)
                assert_false(stellar_value_verify(&value, &network));
            xdr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* ---- made values */

static struct hash filled(uint8_t fill)
{
    struct hash hash;
    memset(hash.bytes, fill, sizeof hash.bytes);
    return hash;
}

struct made {
    uint32_t kind;
    uint64_t close_time_s, close_time_ms;
    bool signs_ms; /* the signature covers the milliseconds */
    uint8_t signs; /* the set hash that it covers */
    struct bytes upgrades;
};

#define SET 1
#define DROPPED 2

/* Signed by a key of the seed {0}. */
static void add_signature(struct buf *out, const struct made *made, const struct network_id *network)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {0}, key[crypto_sign_PUBLICKEYBYTES],
            secret[crypto_sign_SECRETKEYBYTES], signature[crypto_sign_BYTES];
    struct buf payload = {0};
    const struct hash set = filled(made->signs);
    crypto_sign_seed_keypair(key, secret, seed);
    buf_add(&payload, network->bytes, sizeof network->bytes);
    buf_add_u32(&payload, 4);
    buf_add(&payload, set.bytes, sizeof set.bytes);
    buf_add_u64(&payload, made->close_time_s);
    if (made->signs_ms)
        buf_add_u64(&payload, made->close_time_ms);
    crypto_sign_detached(signature, NULL, payload.data, payload.len, secret);
    buf_free(&payload);
    buf_add_u32(out, 0);
    buf_add(out, key, sizeof key);
    buf_add_u32(out, sizeof signature);
    buf_add(out, signature, sizeof signature);
}

static struct stellar_value make(const struct made *made)
{
    const struct network_id network = network_id_of("made");
    const bool dropped = made->kind == 2 || made->kind == 4;
    const struct hash set = filled(dropped ? 0 : SET), proposed = filled(DROPPED);
    struct buf xdr CLEANUP(buf_free) = {0};
    struct stellar_value value;
    buf_add(&xdr, set.bytes, sizeof set.bytes);
    buf_add_u64(&xdr, made->close_time_s);
    if (made->upgrades.len > 0)
        buf_add_bytes(&xdr, made->upgrades);
    else
        buf_add_u32(&xdr, 0);
    buf_add_u32(&xdr, made->kind);
    if (made->kind >= 3)
        buf_add_u64(&xdr, made->close_time_ms);
    if (dropped) {
        buf_add(&xdr, proposed.bytes, sizeof proposed.bytes);
        buf_add(&xdr, set.bytes, sizeof set.bytes); /* the ledger before */
        buf_add_u32(&xdr, 30);
    }
    if (made->kind > 0)
        add_signature(&xdr, made, &network);
    assert_int_equal(stellar_value_decode(buf_bytes(&xdr), &value), ERR_OK);
    return value;
}

static bool valid(const struct made *made)
{
    const struct network_id network = network_id_of("made");
    const struct stellar_value value = make(made);
    return stellar_value_verify(&value, &network);
}

TEST(the_signature_covers_the_milliseconds_of_values_that_have_them)
{
    for (uint32_t kind = 1; kind <= 4; kind++) {
        struct made made = {.kind = kind,
            .close_time_s = 1700000000,
            .close_time_ms = 1700000000600,
            .signs = kind % 2 == 0 ? DROPPED : SET};
        assert_int_equal(valid(&made), kind <= 2);
        made.signs_ms = true;
        assert_int_equal(valid(&made), kind >= 3);
    }
}

TEST(the_signature_of_a_dropped_set_covers_the_set_that_was_dropped)
{
    for (uint32_t kind = 2; kind <= 4; kind += 2) {
        struct made made = {
            .kind = kind, .close_time_s = 5, .close_time_ms = 5001, .signs_ms = kind == 4, .signs = DROPPED};
        const struct stellar_value value = make(&made);
        const struct hash none = filled(0), dropped = filled(DROPPED);
        assert_true(hash_equal(&value.tx_set_hash, &none));
        assert_true(hash_equal(&value.signed_set_hash, &dropped));
        assert_true(valid(&made));
        made.signs = 0;
        assert_false(valid(&made));
    }
}

TEST(times_that_differ_are_noted)
{
    static const struct {
        uint64_t close_time_s, close_time_ms;
        bool differ;
    } cases[] = {{5, 5000, false}, {5, 5999, false}, {5, 4999, true}, {5, 6000, true}, {5, 600, true},
        {UINT64_MAX / 1000, UINT64_MAX, false}, {0, 0, false}, {UINT64_MAX, UINT64_MAX, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct made made = {
            .kind = 3, .close_time_s = cases[i].close_time_s, .close_time_ms = cases[i].close_time_ms};
        const struct stellar_value value = make(&made);
        assert_int_equal(value.times_differ, cases[i].differ);
        assert_int_equal(value.close_time_ms, cases[i].close_time_ms);
    }
}

TEST(an_unsigned_value_and_a_short_signature_are_not_valid)
{
    const struct made basic = {.kind = 0, .close_time_s = 5};
    assert_false(make(&basic).has_signature);
    assert_false(valid(&basic));
    uint8_t xdr[CAPTURED_SIZE];
    struct stellar_value value;
    unhex(0, xdr);
    const size_t length = CAPTURED_SIZE - 64 - 1;
    xdr[length] = 60;
    const struct network_id network = network_id_of(PUBLIC_PASSPHRASE);
    assert_int_equal(stellar_value_decode((struct bytes){xdr, sizeof xdr - 4}, &value), ERR_OK);
    assert_false(value.has_signature);
    assert_false(stellar_value_verify(&value, &network));
}

/* Of each: the length, the type, the rest. */
TEST(upgrades_to_a_protocol_and_of_the_settings_are_noted)
{
    struct buf upgrades CLEANUP(buf_free) = {0};
    const uint32_t words[] = {4, 8, 1, 30, 4, 0xffffffff, 4, 6, 0};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        buf_add_u32(&upgrades, words[i]);
    const struct made made = {.kind = 1, .close_time_s = 5, .signs = SET, .upgrades = buf_bytes(&upgrades)};
    const struct stellar_value value = make(&made);
    assert_true(value.upgrades_config);
    assert_int_equal(value.upgrades_protocol, 30);
    assert_true(valid(&made));
    buf_clear(&upgrades);
    for (size_t i = 0; i < 4; i++)
        buf_add_u32(&upgrades, i == 0 ? 1 : words[i]);
    assert_false(make(&(struct made){.kind = 1, .upgrades = buf_bytes(&upgrades)}).upgrades_config);
}
