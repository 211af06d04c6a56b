/* Seals and opens seeds. No key is stored and none is chosen here. */
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

void seal_key_id(const uint8_t master[static MASTER_KEY_SIZE], char out[static KEY_ID_SIZE])
{
    static const char label[] = "fairway master key id";
    uint8_t id[crypto_generichash_BYTES_MIN];
    crypto_generichash(id, sizeof id, (const uint8_t *)label, sizeof label - 1, master, MASTER_KEY_SIZE);
    hex_encode(id, (KEY_ID_SIZE - 1) / 2, out);
}

enum err seal_derive_key(const char *passphrase, size_t len, const uint8_t salt[static KDF_SALT_SIZE],
    uint8_t master[static MASTER_KEY_SIZE])
{
    int failed = crypto_pwhash(
        master, MASTER_KEY_SIZE, passphrase, len, salt, KDF_PASSES, KDF_MEMORY, crypto_pwhash_ALG_ARGON2ID13);
    return failed ? ERR_INTERNAL : ERR_OK;
}

/* The associated data. */
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

void key_pair_wipe(struct key_pair *pair)
{
    sodium_memzero(pair, sizeof *pair);
}

/*
 * The public half of the secret key is not derived again, which would cost as much as a signature, but taken
 * from the caller. libsodium hashes it into each signature, and two signatures of one message with different
 * public halves would reveal the key. That cannot happen: the tag authenticates seed and public key together,
 * so a box opens only with the public key that ring_generate sealed it with, unless somebody has the master
 * key, who can then read the seed.
 */
enum err seal_open(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const struct sealed_seed *sealed, struct key_pair *pair)
{
    const struct associated data = associated_of(network, key, sealed);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(pair->secret, NULL, NULL, sealed->box + NONCE_SIZE,
            SEAL_SIZE - NONCE_SIZE, (const uint8_t *)&data, sizeof data, sealed->box, master) != 0) {
        key_pair_wipe(pair);
        return ERR_SEAL_BROKEN;
    }
    memcpy(pair->secret + SEED_SIZE, key->bytes, sizeof key->bytes);
    return ERR_OK;
}
