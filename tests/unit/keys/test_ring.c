/*
 * The key ring: a faulty key never gives a signature (DS2), and secrets are wiped after use (DS6).
 * tests/integration/test_keyd_life.c tests with the real program which secrets are accepted.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "ring.h"
#include "stellar/strkey.h"

static struct ring ring;
static struct generated_key account;
static const struct hash hash = {{42}};

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
    uint8_t master[MASTER_KEY_SIZE] = {7}, seed[SEED_SIZE] = {11};
    char text[STRKEY_SIZE + 1];
    const struct network_id network = network_id_of("test");
    bool is_new;
    strkey_encode(STRKEY_SEED, seed, text);
    strcat(text, "\n");
    const struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = fd_of(master, sizeof master),
        .fd[SECRET_PASSPHRASE] = fd_of("a long passphrase", 17),
        .fd[SECRET_DISTRIBUTION] = fd_of(text, strlen(text))};
    if (sodium_init() < 0 || ring_open(&ring, &network, NULL) != ERR_OK ||
        ring_read(&ring, &secrets, NULL) != ERR_OK)
        return -1;
    assert_int_equal(ring.secrets->passphrase_len, 17);
    if (ring_load(&ring, NULL, 0, &is_new, NULL) != ERR_OK)
        return -1;
    ring_generate(&ring, &account);
    return 0;
}

static int tear_down(void **state)
{
    ring_close(&ring);
    sodium_free(ring.secrets);
    return 0;
}

static void assert_all_zero(const void *data, size_t len)
{
    assert_true(sodium_is_zero(data, len));
}

TEST(the_ring_signs_for_its_accounts)
{
    struct signature signature;
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_OK);
    assert_true(signature_valid(&signature, &hash, &account.public_key));
    assert_int_equal(ring_sign_as_distribution(&ring, &hash, &signature), ERR_OK);
    assert_true(signature_valid(&signature, &hash, &ring.distribution));
}

TEST(DS2_a_flipped_bit_of_the_key_in_memory_gives_no_signature)
{
    uint8_t *secret = ring.secrets->distribution.secret;
    for (size_t bit = 0; bit < SECRET_KEY_SIZE * 8; bit++) {
        struct signature signature;
        ring_begin(&ring);
        ring.faulty = false;
        secret[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (ring_sign_as_distribution(&ring, &hash, &signature) != ERR_INTERNAL)
            fail_msg("bit %zu", bit);
        assert_all_zero(&signature, sizeof signature);
        secret[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

TEST(DS2_a_flipped_bit_of_the_expected_key_gives_no_signature)
{
    for (size_t bit = 0; bit < 256; bit++) {
        struct signature signature;
        struct public_key key = account.public_key;
        key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(ring_sign(&ring, &key, &account.sealed, &hash, &signature), ERR_SEAL_BROKEN);
        assert_all_zero(&signature, sizeof signature);
    }
}

/* A transaction of the account that has these signatures; only what ring_check_signed reads. */
static struct envelope signed_with(
    const struct public_key *source, const struct signature list[], size_t count)
{
    struct envelope transaction = {.source = *source, .signature_count = (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        transaction.signatures[i].signature = BYTES_OF(list[i].bytes);
    return transaction;
}

TEST(DS6_no_seed_stays_open_after_use)
{
    struct signature signature;
    struct generated_key other;
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_OK);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
    const struct envelope transaction = signed_with(&account.public_key, &signature, 1);
    assert_int_equal(ring_check_signed(&ring, &transaction, &account.sealed, &hash), ERR_OK);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
    ring_generate(&ring, &other);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
    assert_int_equal(
        ring_sign(&ring, &other.public_key, &account.sealed, &hash, &signature), ERR_SEAL_BROKEN);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
}

TEST(an_imported_seed_opens_for_its_own_key)
{
    const uint8_t seed[SEED_SIZE] = {13};
    struct generated_key imported;
    struct signature signature;
    uint8_t secret[SECRET_KEY_SIZE];
    struct public_key expected;
    crypto_sign_seed_keypair(expected.bytes, secret, seed);
    assert_int_equal(ring_import(&ring, seed, &imported), ERR_OK);
    assert_memory_equal(&imported.public_key, &expected, sizeof expected);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
    assert_int_equal(ring_sign(&ring, &expected, &imported.sealed, &hash, &signature), ERR_OK);
    assert_true(signature_valid(&signature, &hash, &expected));
}

TEST(a_seed_that_opens_is_sealed_again_and_another_is_unchanged)
{
    struct signature signature;
    struct sealed_seed again = account.sealed, broken = account.sealed, left;
    assert_int_equal(ring_reseal(&ring, &account.public_key, &again), ERR_OK);
    assert_memory_not_equal(again.box, account.sealed.box, sizeof again.box);
    assert_int_equal(ring_sign(&ring, &account.public_key, &again, &hash, &signature), ERR_OK);
    broken.box[40] ^= 1;
    left = broken;
    assert_int_equal(ring_reseal(&ring, &account.public_key, &left), ERR_SEAL_BROKEN);
    assert_memory_equal(&left, &broken, sizeof left);
    assert_all_zero(&ring.secrets->open, sizeof ring.secrets->open);
}

TEST(DS6_loading_wipes_passphrase_and_key_file)
{
    assert_all_zero(ring.secrets->passphrase, sizeof ring.secrets->passphrase);
    assert_all_zero(ring.secrets->file_key, sizeof ring.secrets->file_key);
    assert_int_equal(ring.secrets->passphrase_len, 0);
}

TEST(the_seal_proves_membership_and_the_signature_the_lease)
{
    struct generated_key other;
    struct signature list[2] = {{{1}}};
    ring_generate(&ring, &other);
    assert_int_equal(ring_sign(&ring, &other.public_key, &other.sealed, &hash, &list[1]), ERR_OK);
    struct envelope transaction = signed_with(&other.public_key, list, 2);
    assert_int_equal(ring_check_signed(&ring, &transaction, &other.sealed, &hash), ERR_OK);
    assert_int_equal(ring_check_signed(&ring, &transaction, &account.sealed, &hash), ERR_SEAL_BROKEN);
    assert_int_equal(ring_check_signed(&ring, &transaction, &other.sealed, &(struct hash){{43}}),
        ERR_CHANNEL_SIGNATURE_MISSING);
    for (size_t bit = 0; bit < 8 * sizeof list[1]; bit++) {
        list[1].bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(
            ring_check_signed(&ring, &transaction, &other.sealed, &hash), ERR_CHANNEL_SIGNATURE_MISSING);
        list[1].bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t len = 0; len < sizeof list[1]; len++) {
        transaction.signatures[1].signature.len = len;
        assert_int_equal(
            ring_check_signed(&ring, &transaction, &other.sealed, &hash), ERR_CHANNEL_SIGNATURE_MISSING);
    }
    transaction = signed_with(&other.public_key, list, 1);
    assert_int_equal(
        ring_check_signed(&ring, &transaction, &other.sealed, &hash), ERR_CHANNEL_SIGNATURE_MISSING);
    transaction = signed_with(&other.public_key, list, 2);
    other.sealed.key_id[0] ^= 1;
    assert_int_equal(ring_check_signed(&ring, &transaction, &other.sealed, &hash), ERR_SEAL_BROKEN);
}

TEST(a_secret_longer_than_its_buffer_is_refused)
{
    uint8_t out[8];
    size_t len;
    assert_int_equal(ring_read_secret(fd_of("12345678", 8), out, sizeof out, &len), ERR_OK);
    assert_int_equal(len, 8);
    assert_int_equal(ring_read_secret(fd_of("", 0), out, sizeof out, &len), ERR_OK);
    assert_int_equal(len, 0);
    assert_int_equal(ring_read_secret(fd_of("123456789", 9), out, sizeof out, &len), ERR_CONFIG);
    int fd = fd_of("1", 1);
    close(fd);
    assert_int_equal(ring_read_secret(fd, out, sizeof out, &len), ERR_CONFIG);
}

TEST(a_master_key_may_be_raw_or_hexadecimal)
{
    static const char digits[] = "0700000000000000000000000000000000000000000000000000000000000000\n";
    for (size_t newline = 0; newline < 2; newline++) {
        struct ring other;
        bool is_new;
        const struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = fd_of(digits, 64 + newline),
            .fd[SECRET_PASSPHRASE] = -1,
            .fd[SECRET_DISTRIBUTION] = -1};
        assert_int_equal(ring_open(&other, &ring.network, NULL), ERR_OK);
        assert_int_equal(ring_read(&other, &secrets, NULL), ERR_OK);
        assert_int_equal(ring_load(&other, NULL, 0, &is_new, NULL), ERR_OK);
        assert_string_equal(other.current->row.key_id, ring.current->row.key_id);
        sodium_free(other.secrets);
    }
}

GROUP_FIXTURE(set_up, tear_down)
