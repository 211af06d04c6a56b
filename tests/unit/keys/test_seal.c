/* DS4: a sealed seed opens only for its own account, network and master key. */
#include <string.h>

#include "check.h"
#include <sodium.h>

#include "seal.h"

struct fixture {
    uint8_t master[MASTER_KEY_SIZE], seed[SEED_SIZE], expected[SECRET_KEY_SIZE];
    struct network_id network;
    struct public_key key;
    struct sealed_seed sealed;
};

static struct fixture fixture(void)
{
    struct fixture f = {.network = network_id_of("Test SDF Network ; September 2015")};
    memset(f.master, 7, sizeof f.master);
    memset(f.seed, 9, sizeof f.seed);
    crypto_sign_seed_keypair(f.key.bytes, f.expected, f.seed);
    seal_key_id(f.master, f.sealed.key_id);
    seal(f.master, &f.network, &f.key, f.seed, &f.sealed);
    return f;
}

static int set_up(void **state)
{
    return sodium_init();
}

static enum err open_fixture(const struct fixture *f)
{
    struct key_pair opened;
    const struct key_pair nothing = {0};
    enum err e = seal_open(f->master, &f->network, &f->key, &f->sealed, &opened);
    if (e == ERR_OK)
        assert_memory_equal(opened.secret, f->expected, sizeof opened.secret);
    else
        assert_memory_equal(&opened, &nothing, sizeof opened); /* no partial key */
    return e;
}

TEST(a_sealed_seed_opens_for_its_account)
{
    struct fixture f = fixture();
    assert_int_equal(open_fixture(&f), ERR_OK);
}

TEST(DS4_every_flipped_bit_is_refused)
{
    for (size_t bit = 0; bit < SEAL_SIZE * 8; bit++) {
        struct fixture f = fixture();
        f.sealed.box[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    }
}

/* A box always has 72 bytes, so a truncated one ends with filler. */
TEST(DS4_every_truncation_is_refused)
{
    for (size_t len = 0; len < SEAL_SIZE; len++)
        for (int filler = 0; filler < 256; filler += 255) {
            struct fixture f = fixture();
            if (len == SEAL_SIZE - 1 && f.sealed.box[len] == filler)
                continue; /* the whole one opens */
            memset(f.sealed.box + len, filler, SEAL_SIZE - len);
            assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
        }
}

TEST(DS4_swapped_rows_are_refused)
{
    struct fixture f = fixture(), other = fixture();
    memset(other.seed, 10, sizeof other.seed);
    crypto_sign_seed_keypair(other.key.bytes, other.expected, other.seed);
    seal(other.master, &other.network, &other.key, other.seed, &other.sealed);
    assert_int_equal(open_fixture(&other), ERR_OK);
    const struct sealed_seed kept = f.sealed;
    f.sealed = other.sealed;
    other.sealed = kept;
    assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    assert_int_equal(open_fixture(&other), ERR_SEAL_BROKEN);
}

TEST(DS4_another_master_key_network_row_or_key_id_is_refused)
{
    struct fixture f = fixture();
    f.master[0] ^= 1;
    assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    f = fixture();
    f.network = network_id_of("Public Global Stellar Network ; September 2015");
    assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    f = fixture();
    f.key.bytes[31] ^= 1;
    assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    f = fixture();
    f.sealed.key_id[0] = f.sealed.key_id[0] == '0' ? '1' : '0';
    assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
}

/* The public half of the secret key is the caller's, so the tag must cover it. */
TEST(DS4_every_flipped_bit_of_the_public_key_is_refused)
{
    for (size_t bit = 0; bit < 256; bit++) {
        struct fixture f = fixture();
        f.key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(open_fixture(&f), ERR_SEAL_BROKEN);
    }
}

TEST(two_seals_of_one_seed_differ)
{
    struct fixture a = fixture(), b = fixture();
    assert_memory_not_equal(a.sealed.box, b.sealed.box, SEAL_SIZE);
}

TEST(a_key_id_is_sixteen_digits_of_the_master_key)
{
    struct fixture f = fixture();
    char id[KEY_ID_SIZE];
    assert_int_equal(strspn(f.sealed.key_id, "0123456789abcdef"), KEY_ID_SIZE - 1);
    f.master[31] ^= 1;
    seal_key_id(f.master, id);
    assert_string_not_equal(id, f.sealed.key_id);
}

TEST(a_passphrase_gives_one_key_for_each_salt)
{
    uint8_t one[MASTER_KEY_SIZE], same[MASTER_KEY_SIZE], other[MASTER_KEY_SIZE], salt[KDF_SALT_SIZE] = {1};
    assert_int_equal(seal_derive_key("correct horse", 13, salt, one), ERR_OK);
    assert_int_equal(seal_derive_key("correct horse", 13, salt, same), ERR_OK);
    salt[0] = 2;
    assert_int_equal(seal_derive_key("correct horse", 13, salt, other), ERR_OK);
    assert_memory_equal(one, same, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
}

GROUP_FIXTURE(set_up, NULL)
