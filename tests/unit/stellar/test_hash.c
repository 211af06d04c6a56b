/* SHA-256, network ids and Ed25519 by known answers, and what Ed25519 must refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <sodium.h>

#include "base/text.h"
#include "hash.h"

static struct bytes text_bytes(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static void assert_hash(struct hash hash, const char *expected)
{
    char text[HASH_HEX_SIZE];
    hash_encode(&hash, text);
    assert_string_equal(text, expected);
}

static void sha256_known_answers(void **state)
{
    (void)state;
    /* FIPS 180-2 appendix B. */
    assert_hash(
        sha256(text_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash(sha256(text_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_hash(
        sha256((struct bytes){0}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void parts_hash_as_their_concatenation(void **state)
{
    (void)state;
    const struct bytes parts[] = {text_bytes("a"), text_bytes(""), text_bytes("bc")};
    struct hash whole = sha256(text_bytes("abc")), apart = sha256_parts(parts, 3);
    assert_true(hash_equal(&whole, &apart));
}

static void network_id_is_the_hash_of_the_passphrase(void **state)
{
    (void)state;
    struct network_id id = network_id_of("Public Global Stellar Network ; September 2015");
    char text[HASH_HEX_SIZE];
    hex_encode(id.bytes, sizeof id.bytes, text);
    assert_string_equal(text, "7ac33997544e3175d266bd022439b22cdb16508c01163f26e5cb2a3e1045a979");
}

static void a_signature_is_valid_for_its_hash_and_key_only(void **state)
{
    (void)state;
    struct public_key key;
    uint8_t secret[crypto_sign_SECRETKEYBYTES], seed[crypto_sign_SEEDBYTES] = {7};
    crypto_sign_seed_keypair(key.bytes, secret, seed);
    struct hash hash = sha256(text_bytes("abc"));
    struct signature signature;
    crypto_sign_detached(signature.bytes, NULL, hash.bytes, sizeof hash.bytes, secret);
    assert_true(signature_valid(&signature, &hash, &key));

    for (size_t bit = 0; bit < 512; bit++) {
        struct signature bad = signature;
        bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(signature_valid(&bad, &hash, &key));
    }
    for (size_t bit = 0; bit < 256; bit++) {
        struct hash other_hash = hash;
        other_hash.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(signature_valid(&signature, &other_hash, &key));
        struct public_key other_key = key;
        other_key.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(signature_valid(&signature, &hash, &other_key));
    }
}

static void a_key_of_small_order_verifies_nothing(void **state)
{
    (void)state;
    /* The identity as key and as R with S = 0 satisfies the bare equation for every message. */
    struct public_key identity = {{1}};
    struct signature trivial = {{1}};
    struct hash hash = sha256(text_bytes("abc"));
    assert_false(signature_valid(&trivial, &hash, &identity));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test(parts_hash_as_their_concatenation),
        cmocka_unit_test(network_id_is_the_hash_of_the_passphrase),
        cmocka_unit_test(a_signature_is_valid_for_its_hash_and_key_only),
        cmocka_unit_test(a_key_of_small_order_verifies_nothing),
    };
    return cmocka_run_group_tests_name("stellar/hash", tests, NULL, NULL);
}
