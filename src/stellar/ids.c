/* Keys, hashes and addresses, SHA-256, and the verification of signatures. No secret comes here. */
#include "stellar/ids.h"

#include <sodium.h>
#include <string.h>

#include "base/text.h"
#include "stellar/strkey.h"

bool public_key_equal(const struct public_key *a, const struct public_key *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

int public_key_compare(const void *a, const void *b)
{
    const struct public_key *left = a, *right = b;
    return memcmp(left->bytes, right->bytes, sizeof left->bytes);
}

const uint8_t *public_key_hint(const struct public_key *key)
{
    return key->bytes + sizeof key->bytes - 4;
}

bool hash_equal(const struct hash *a, const struct hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

int hash_compare(const void *a, const void *b)
{
    const struct hash *left = a, *right = b;
    return memcmp(left->bytes, right->bytes, sizeof left->bytes);
}

_Static_assert(ADDRESS_SIZE == STRKEY_SIZE, "G... is a strkey");

void address_encode(const struct public_key *key, char out[static ADDRESS_SIZE])
{
    strkey_encode(STRKEY_ACCOUNT, key->bytes, out);
}

enum err address_decode(const char *text, struct public_key *out)
{
    return strkey_decode(STRKEY_ACCOUNT, text, out->bytes);
}

void hash_encode(const struct hash *hash, char out[static HASH_HEX_SIZE])
{
    hex_encode(hash->bytes, sizeof hash->bytes, out);
}

enum err hash_decode(const char *text, struct hash *out)
{
    return hex_decode(text, strlen(text), out->bytes, sizeof out->bytes);
}

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

bool signature_valid_of(const struct signature *signature, struct bytes message, const struct public_key *key)
{
    return crypto_sign_verify_detached(signature->bytes, message.data, message.len, key->bytes) == 0;
}

bool signature_valid(const struct signature *signature, const struct hash *hash, const struct public_key *key)
{
    return signature_valid_of(signature, BYTES_OF(hash->bytes), key);
}
