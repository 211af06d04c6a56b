/* signature_valid_of of stellar/ids.h: the vectors of RFC 8032, and forgeries that careless verifiers accept.
 */
#include "check.h"

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "stellar/ids.h"

static void unhex(const char *text, uint8_t *out, size_t len)
{
    assert_int_equal(hex_decode(text, strlen(text), out, len), ERR_OK);
}

/* RFC 8032 section 7.1: TEST 1, 2, 3 and SHA(abc). */
static const struct {
    const char *seed, *key, *message, *signature;
} vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd2"
        "5bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c38"
        "7b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a"
        "7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd45"
        "4d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303d"
        "ca179c138ac17ad9bef1177331a704"},
};

/* The points of small order, and two encodings of such points that are not reduced. */
static const char *const small_order[] = {
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

/* The order of the base point, little endian. */
static const uint8_t group_order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
    0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10};

struct sample {
    struct public_key key;
    struct signature signature;
    uint8_t message[64];
    struct bytes bytes;
};

static void take(size_t i, struct sample *out)
{
    const size_t len = strlen(vectors[i].message) / 2;
    unhex(vectors[i].key, out->key.bytes, sizeof out->key.bytes);
    unhex(vectors[i].signature, out->signature.bytes, sizeof out->signature.bytes);
    unhex(vectors[i].message, out->message, len);
    out->bytes = (struct bytes){out->message, len};
}

static bool valid(const struct sample *sample)
{
    return signature_valid_of(&sample->signature, sample->bytes, &sample->key);
}

TEST(the_vectors_of_RFC_8032_are_valid_and_nothing_near_them)
{
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        struct sample sample;
        take(i, &sample);
        assert_true(valid(&sample));
        uint8_t seed[32], secret[64], key[32], signature[64];
        unhex(vectors[i].seed, seed, sizeof seed);
        crypto_sign_seed_keypair(key, secret, seed);
        assert_memory_equal(key, sample.key.bytes, sizeof key);
        crypto_sign_detached(signature, NULL, sample.bytes.data, sample.bytes.len, secret);
        assert_memory_equal(signature, sample.signature.bytes, sizeof signature);
        for (size_t bit = 0; bit < 512; bit++) {
            struct sample bad = sample;
            bad.bytes.data = sample.message;
            bad.signature.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(valid(&bad));
        }
        if (sample.bytes.len > 0) {
            sample.bytes.len--;
            assert_false(valid(&sample));
        }
    }
}

/* Adds the group order to S; returns false when 256 bits do not hold it. */
static bool add_order(struct signature *signature)
{
    unsigned carry = 0;
    for (size_t i = 0; i < 32; i++) {
        carry += (unsigned)signature->bytes[32 + i] + group_order[i];
        signature->bytes[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    return carry == 0;
}

TEST(an_S_that_is_not_reduced_is_invalid)
{
    size_t tried = 0;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        struct sample sample;
        take(i, &sample);
        for (; add_order(&sample.signature); tried++)
            assert_false(valid(&sample));
    }
    assert_true(tried >= 4 * 14);
}

/* With such a key, S = 0 and R = the key satisfy the bare equation for one message in eight or fewer. */
TEST(no_key_and_no_R_of_small_order_is_valid_for_any_of_100_messages)
{
    for (size_t k = 0; k < ARRAY_LEN(small_order); k++)
        for (size_t r = 0; r < ARRAY_LEN(small_order); r++)
            for (uint8_t message = 0; message < 100; message++) {
                struct sample sample = {.message = {message}};
                sample.bytes = (struct bytes){sample.message, 1};
                unhex(small_order[k], sample.key.bytes, sizeof sample.key.bytes);
                unhex(small_order[r], sample.signature.bytes, 32);
                assert_false(valid(&sample));
            }
}

TEST(zeros_and_ones_are_no_signature)
{
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
        for (int fill = 0; fill <= 0xff; fill += 0xff) {
            struct sample sample;
            take(i, &sample);
            memset(sample.signature.bytes + 32, fill, 32);
            assert_false(valid(&sample));
            memset(sample.signature.bytes, fill, 64);
            assert_false(valid(&sample));
            take(i, &sample);
            memset(sample.signature.bytes, fill, 32);
            assert_false(valid(&sample));
            take(i, &sample);
            memset(sample.key.bytes, fill, 32);
            assert_false(valid(&sample));
        }
}
