/*
 * DS2: what the checks of ring.h find when the computation of a signature fails. This program's own
 * crypto_sign_detached and crypto_sign_verify_detached, which the linker prefers to libsodium's, flip a bit
 * in chosen signatures and count calls.
 */
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "ring.h"

static unsigned computed, verified; /* calls */
static uint64_t faulty;             /* bit n: computation n is wrong */
static unsigned flipped;            /* which of its 512 bits */
static void (*deed)(void);          /* called in computation 1, the second item's first */

int crypto_sign_detached(unsigned char *sig, unsigned long long *len, const unsigned char *m,
    unsigned long long mlen, const unsigned char *sk)
{
    if (computed == 1 && deed != NULL)
        deed();
    int result = crypto_sign_ed25519_detached(sig, len, m, mlen, sk);
    if (computed < 64 && (faulty >> computed & 1) != 0)
        sig[flipped / 8] ^= (unsigned char)(1 << flipped % 8);
    computed++;
    return result;
}

int crypto_sign_verify_detached(
    const unsigned char *sig, const unsigned char *m, unsigned long long mlen, const unsigned char *pk)
{
    verified++;
    return crypto_sign_ed25519_verify_detached(sig, m, mlen, pk);
}

static struct ring ring;
static struct generated_key account;

/* Signs a message of count items, for an account or as the distribution account. Returns how many came out;
 * all that do are valid. */
static unsigned sign_message(unsigned count, bool as_distribution)
{
    unsigned made = 0;
    computed = verified = 0;
    ring_begin(&ring);
    for (unsigned i = 0; i < count; i++) {
        const struct hash hash = {{(uint8_t)i, (uint8_t)(i >> 8), 1}};
        struct signature signature;
        enum err e = as_distribution
                         ? ring_sign_as_distribution(&ring, &hash, &signature)
                         : ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature);
        const uint8_t *key = as_distribution ? ring.distribution.bytes : account.public_key.bytes;
        if (e == ERR_OK)
            assert_int_equal(
                crypto_sign_ed25519_verify_detached(signature.bytes, hash.bytes, sizeof hash, key), 0);
        else {
            assert_int_equal(e, ERR_INTERNAL);
            assert_true(sodium_is_zero(signature.bytes, sizeof signature));
        }
        made += e == ERR_OK;
    }
    return made;
}

static int sound(void **state)
{
    faulty = 0;
    flipped = 77;
    ring.faulty = false;
    return 0;
}

TEST_WITH(the_first_of_a_message_is_verified_and_the_others_are_made_twice, sound, NULL)
{
    for (int distribution = 0; distribution < 2; distribution++) {
        assert_int_equal(sign_message(1, distribution), 1);
        assert_int_equal(computed, 1);
        assert_int_equal(verified, 1);
        assert_int_equal(sign_message(10, distribution), 10);
        assert_int_equal(computed, 19);
        assert_int_equal(verified, 1);
    }
}

TEST_WITH(DS2_a_flipped_bit_in_any_computation_is_found, sound, NULL)
{
    for (int distribution = 0; distribution < 2; distribution++)
        for (unsigned at = 0; at < 9; at++) /* 5 items: 1 and 2 x 4 computations */
            for (flipped = at; flipped < 512; flipped += 37) {
                faulty = 1u << at;
                ring.faulty = false;
                assert_int_equal(sign_message(5, distribution), 4);
            }
}

TEST_WITH(DS2_a_fault_that_stays_is_found_at_the_first_signature, sound, NULL)
{
    faulty = UINT64_MAX;
    assert_int_equal(sign_message(10, false), 0);
    ring.faulty = false;
    assert_int_equal(sign_message(10, true), 0);
}

TEST_WITH(DS2_a_seed_that_was_sealed_wrong_is_not_stored, sound, NULL)
{
    const uint8_t seed[SEED_SIZE] = {5};
    struct generated_key imported;
    struct sealed_seed sealed = account.sealed;
    computed = 0;
    faulty = 3; /* the signatures of both */
    assert_int_equal(ring_import(&ring, seed, &imported), ERR_INTERNAL);
    assert_true(sodium_is_zero((const uint8_t *)&imported, sizeof imported));
    assert_int_equal(ring_reseal(&ring, &account.public_key, &sealed), ERR_INTERNAL);
    assert_memory_equal(&sealed, &account.sealed, sizeof sealed);
    assert_int_equal(computed, 2);
}

static void damage_master_key(void)
{
    ring.secrets->keys[0].bytes[5] ^= 8;
}

/* The account is not at fault: ERR_SEAL_BROKEN would quarantine it. */
TEST_WITH(DS2_a_seal_that_opens_once_and_not_twice_is_a_fault, sound, NULL)
{
    const struct hash hash = {{2}};
    struct signature signature;
    ring_begin(&ring);
    computed = 0;
    deed = damage_master_key;
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_OK);
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_INTERNAL);
    assert_true(sodium_is_zero(signature.bytes, sizeof signature));
    assert_true(ring.faulty);
    deed = NULL;
    damage_master_key();
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_OK);
}

static void damage_public_half(void)
{
    ring.secrets->distribution.secret[40] ^= 8;
}

TEST_WITH(DS2_a_damaged_public_half_is_found_before_it_is_used, sound, NULL)
{
    const struct hash hash = {{2}};
    struct signature signature;
    assert_int_equal(sign_message(2, true), 2);
    damage_public_half();
    for (int begun = 0; begun < 2; begun++) {
        computed = 0;
        assert_int_equal(ring_sign_as_distribution(&ring, &hash, &signature), ERR_INTERNAL);
        assert_int_equal(computed, 0);
        assert_true(sodium_is_zero(signature.bytes, sizeof signature));
        ring_begin(&ring);
    }
    damage_public_half();
    assert_int_equal(sign_message(2, true), 2);
}

TEST_WITH(after_a_fault_every_signature_is_verified, sound, NULL)
{
    faulty = 1u << 2;
    assert_int_equal(
        sign_message(4, false), 3); /* the third computation is the repetition of the second item */
    assert_int_equal(verified, 3);
    faulty = 0;
    assert_int_equal(sign_message(4, true), 4);
    assert_int_equal(verified, 4);
    faulty = 6; /* the same fault twice in a row */
    assert_int_equal(sign_message(4, false), 2);
}

static int fd_of(const void *data, size_t len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, len), len);
    close(ends[1]);
    return ends[0];
}

static int set_up(void **state)
{
    const uint8_t master[MASTER_KEY_SIZE] = {7}, seed[SEED_SIZE] = {11};
    const struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = fd_of(master, sizeof master),
        .fd[SECRET_PASSPHRASE] = -1,
        .fd[SECRET_DISTRIBUTION] = -1};
    bool is_new;
    if (sodium_init() < 0 || ring_open(&ring, &(struct network_id){0}, NULL) != ERR_OK ||
        ring_read(&ring, &secrets, NULL) != ERR_OK || ring_load(&ring, NULL, 0, &is_new, NULL) != ERR_OK)
        return -1;
    crypto_sign_seed_keypair(ring.distribution.bytes, ring.secrets->distribution.secret, seed);
    ring_generate(&ring, &account);
    return 0;
}

static int tear_down(void **state)
{
    ring_close(&ring);
    sodium_free(ring.secrets);
    return 0;
}

GROUP_FIXTURE(set_up, tear_down)
