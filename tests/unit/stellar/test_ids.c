/* Rules of stellar/ids.h and stellar/strkey.h, with SEP-23's lists of valid and invalid strkeys. */
#include <string.h>

#include "check.h"

#include <sodium.h>

#include "base/mem.h"
#include "base/text.h"
#include "stellar/ids.h"
#include "stellar/strkey.h"

#define G "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
#define M_0 "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ"
#define M_2_63 "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK"

static const struct public_key sep_23_key = {
    {0x3f, 0x0c, 0x34, 0xbf, 0x93, 0xad, 0x0d, 0x99, 0x71, 0xd0, 0x4c, 0xcc, 0x90, 0xf7, 0x05, 0x51, 0x1c,
        0x83, 0x8a, 0xad, 0x97, 0x34, 0xa4, 0xa2, 0xfb, 0x0d, 0x7a, 0x03, 0xfc, 0x7f, 0xe8, 0x9a}};

TEST(a_G_address_is_its_account_and_an_M_address_is_malformed)
{
    struct public_key key = {0};
    assert_int_equal(address_decode(G, &key), ERR_OK);
    assert_true(public_key_equal(&key, &sep_23_key));
    assert_int_equal(address_decode(M_0, &key), ERR_MALFORMED);
    assert_int_equal(address_decode(M_2_63, &key), ERR_MALFORMED);
}

TEST(address_encode_gives_the_strkey_of_sep_23)
{
    char text[ADDRESS_SIZE];
    address_encode(&sep_23_key, text);
    assert_string_equal(text, G);
}

TEST(strkeys_that_sep_23_forbids_are_malformed)
{
    static const char *const bad[] = {
        "",
        "G",
        "M",
        "GAAAAAAAACGC6",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI",
        "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAAV75I",
        "M47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUK===",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUO",
        "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAQACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMR"
        "UG"
        "Y4DUPB6IAAAAAAAAPM",
        "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TV",
        /* Valid strkeys that are not accounts: payload signer, contract, pool, balance, seed. */
        "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAQACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMR"
        "UG"
        "Y4DUPB6IBZGM",
        "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA",
        "LA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUPJN",
        "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TU",
        "SBCVMMCBEDB64TVJZFYJOJAERZC4YVVUOE6SYR2Y76CBTENGUSGWRRVO",
        /* Other spellings of a valid account. */
        "ga7qynf7sowq3glr2bgmzehxavirza4kvwltjjfc7mgxua74p7ujvsgz",
        " GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ\n",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSG1",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct public_key key = {0}, untouched = {0};
        assert_int_equal(address_decode(bad[i], &key), ERR_MALFORMED);
        assert_true(public_key_equal(&key, &untouched));
    }
}

TEST(a_changed_or_missing_character_is_malformed)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    struct public_key key;
    for (size_t at = 0; at < strlen(G); at++) {
        char text[] = G;
        for (const char *digit = digits; *digit != '\0'; digit++) {
            text[at] = *digit;
            assert_int_equal(address_decode(text, &key), *digit == G[at] ? ERR_OK : ERR_MALFORMED);
        }
        text[at] = '\0';
        assert_int_equal(address_decode(text, &key), ERR_MALFORMED);
    }
}

TEST(seeds_round_trip)
{
    static const char seed[] = "SBCVMMCBEDB64TVJZFYJOJAERZC4YVVUOE6SYR2Y76CBTENGUSGWRRVO";
    uint8_t value[32];
    char text[STRKEY_SIZE];
    assert_int_equal(strkey_decode(STRKEY_SEED, seed, value), ERR_OK);
    strkey_encode(STRKEY_SEED, value, text);
    assert_string_equal(text, seed);
    assert_int_equal(strkey_decode(STRKEY_ACCOUNT, seed, value), ERR_MALFORMED);
}

TEST(hashes_are_64_digits_of_either_case)
{
    static const char lower[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct hash hash, upper;
    char text[HASH_HEX_SIZE];
    assert_int_equal(hash_decode(lower, &hash), ERR_OK);
    hash_encode(&hash, text);
    assert_string_equal(text, lower);
    assert_int_equal(
        hash_decode("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", &upper), ERR_OK);
    assert_true(hash_equal(&hash, &upper));
    assert_int_equal(hash_decode(lower + 1, &hash), ERR_MALFORMED);
    assert_int_equal(hash_decode("", &hash), ERR_MALFORMED);
}

TEST(order_is_that_of_the_bytes)
{
    struct public_key low = {{0}}, high = {{0}};
    low.bytes[31] = 0xff;
    high.bytes[30] = 1;
    assert_true(public_key_compare(&low, &high) < 0);
    assert_true(public_key_compare(&high, &low) > 0);
    assert_int_equal(public_key_compare(&low, &low), 0);
    assert_false(public_key_equal(&low, &high));
    struct hash a = {{0}}, b = {{1}};
    assert_false(hash_equal(&a, &b));
}

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

TEST(sha256_gives_the_hashes_of_FIPS_180_2)
{
    /* appendix B; the empty text is not in it */
    assert_hash(
        sha256(text_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash(sha256(text_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_hash(
        sha256((struct bytes){0}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(the_hash_of_parts_is_that_of_their_concatenation)
{
    const struct bytes parts[] = {text_bytes("a"), text_bytes(""), text_bytes("bc")};
    struct hash whole = sha256(text_bytes("abc")), apart = sha256_parts(parts, 3);
    assert_true(hash_equal(&whole, &apart));
}

TEST(network_id_is_the_hash_of_the_passphrase)
{
    struct network_id id = network_id_of("Public Global Stellar Network ; September 2015");
    char text[HASH_HEX_SIZE];
    hex_encode(id.bytes, sizeof id.bytes, text);
    assert_string_equal(text, "7ac33997544e3175d266bd022439b22cdb16508c01163f26e5cb2a3e1045a979");
}

TEST(a_signature_is_valid_for_its_hash_and_key_only)
{
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

TEST(a_key_of_small_order_never_verifies)
{
    /* The identity as key and as R with S = 0 satisfies the bare equation for every message. */
    struct public_key identity = {{1}};
    struct signature trivial = {{1}};
    struct hash hash = sha256(text_bytes("abc"));
    assert_false(signature_valid(&trivial, &hash, &identity));
}
