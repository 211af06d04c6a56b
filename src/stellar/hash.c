#include "hash.h"

#include <sodium.h>
#include <string.h>

struct hash sha256_parts(const struct bytes parts[], size_t count)
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < count; i++)
        crypto_hash_sha256_update(&state, parts[i].data, parts[i].len);
    struct hash hash;
    crypto_hash_sha256_final(&state, hash.bytes);
    return hash;
}

struct hash sha256(struct bytes bytes)
{
    return sha256_parts(&bytes, 1);
}

struct network_id network_id_of(const char *passphrase)
{
    struct hash hash = sha256((struct bytes){(const uint8_t *)passphrase, strlen(passphrase)});
    struct network_id id;
    memcpy(id.bytes, hash.bytes, sizeof id.bytes);
    return id;
}

bool signature_valid(const struct signature *signature, const struct hash *hash, const struct public_key *key)
{
    return crypto_sign_verify_detached(signature->bytes, hash->bytes, sizeof hash->bytes, key->bytes) == 0;
}
