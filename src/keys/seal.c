#include "seal.h"

#include <sodium.h>
#include <string.h>

#include "base/text.h"

_Static_assert(SEAL_SIZE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES + SEED_SIZE +
                                crypto_aead_xchacha20poly1305_ietf_ABYTES,
    "a sealed seed is nonce, ciphertext, tag");
_Static_assert(
    MASTER_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "a master key is the AEAD's key");
_Static_assert(
    SECRET_KEY_SIZE == crypto_sign_SECRETKEYBYTES && SEED_SIZE == crypto_sign_SEEDBYTES, "Ed25519");
_Static_assert(KDF_SALT_SIZE == crypto_pwhash_argon2id_SALTBYTES, "the salt is Argon2id's");

#define NONCE_SIZE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

void key_id_of(const uint8_t master[static MASTER_KEY_SIZE], char out[static KEY_ID_SIZE])
{
    static const char label[] = "fairway master key id";
    uint8_t id[crypto_generichash_BYTES_MIN];
    crypto_generichash(id, sizeof id, (const uint8_t *)label, sizeof label - 1, master, MASTER_KEY_SIZE);
    hex_encode(id, (KEY_ID_SIZE - 1) / 2, out);
}

enum err key_derive(const char *passphrase, size_t len, const uint8_t salt[static KDF_SALT_SIZE],
    uint8_t master[static MASTER_KEY_SIZE])
{
    int failed = crypto_pwhash(
        master, MASTER_KEY_SIZE, passphrase, len, salt, KDF_PASSES, KDF_MEMORY, crypto_pwhash_ALG_ARGON2ID13);
    return failed ? ERR_INTERNAL : ERR_OK;
}

/* What is authenticated beside the seed: label, network, public key, key id. */
struct associated {
    char label[16];
    struct network_id network;
    struct public_key key;
    char key_id[KEY_ID_SIZE - 1];
};
_Static_assert(sizeof(struct associated) == 16 + 32 + 32 + 16, "no padding: every byte is defined");

static struct associated associated_of(
    const struct network_id *network, const struct public_key *key, const struct sealed_seed *sealed)
{
    struct associated data = {.label = "fairway seed v1", .network = *network, .key = *key};
    memcpy(data.key_id, sealed->key_id, sizeof data.key_id);
    return data;
}

void seal(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const uint8_t seed[static SEED_SIZE], struct sealed_seed *sealed)
{
    const struct associated data = associated_of(network, key, sealed);
    randombytes_buf(sealed->box, NONCE_SIZE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(sealed->box + NONCE_SIZE, NULL, seed, SEED_SIZE,
        (const uint8_t *)&data, sizeof data, NULL, sealed->box, master);
}

void opened_wipe(struct opened *opened)
{
    sodium_memzero(opened, sizeof *opened);
}

enum err unseal(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const struct sealed_seed *sealed, struct opened *opened)
{
    const struct associated data = associated_of(network, key, sealed);
    uint8_t public[crypto_sign_PUBLICKEYBYTES];
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(opened->seed, NULL, NULL, sealed->box + NONCE_SIZE,
            SEAL_SIZE - NONCE_SIZE, (const uint8_t *)&data, sizeof data, sealed->box, master) != 0 ||
        crypto_sign_seed_keypair(public, opened->secret, opened->seed) != 0 ||
        memcmp(public, key->bytes, sizeof public) != 0) {
        opened_wipe(opened);
        return ERR_SEAL_BROKEN;
    }
    return ERR_OK;
}
