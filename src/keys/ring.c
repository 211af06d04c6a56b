#include "ring.h"

#include <sodium.h>
#include <string.h>

enum err ring_open(struct ring *ring, struct detail *detail)
{
    *ring = (struct ring){.secrets = sodium_malloc(sizeof *ring->secrets)};
    /* sodium_malloc locks the pages too, but does not report when that fails */
    if (ring->secrets == NULL || sodium_mlock(ring->secrets, sizeof *ring->secrets) != 0)
        return detail_set(detail, ERR_CONFIG, "the pages for secrets cannot be locked: raise RLIMIT_MEMLOCK");
    sodium_memzero(ring->secrets, sizeof *ring->secrets);
    return ERR_OK;
}

void ring_close(struct ring *ring)
{
    sodium_memzero(ring->secrets, sizeof *ring->secrets);
}

static struct ring_key *add(struct ring_secrets *secrets, const struct master_key_row *row)
{
    struct ring_key *key = &secrets->keys[secrets->key_count++];
    key->row = *row;
    return key;
}

/* Adds the key that the passphrase and the row's salt give. */
static enum err derive(struct ring_secrets *secrets, const struct master_key_row *row, struct ring_key **out)
{
    struct ring_key *key = add(secrets, row);
    enum err e = seal_derive_key(secrets->passphrase, secrets->passphrase_len, row->salt, key->bytes);
    if (e == ERR_OK)
        seal_key_id(key->bytes, key->row.key_id);
    *out = key;
    return e;
}

static struct ring_key *add_file_key(struct ring_secrets *secrets)
{
    struct ring_key *key = add(secrets, &(struct master_key_row){.derived = false});
    memcpy(key->bytes, secrets->file_key, MASTER_KEY_SIZE);
    seal_key_id(key->bytes, key->row.key_id);
    return key;
}

/* Fails when the secret of a known row is missing, so that a pool whose seeds do not open is found at start
 * and not at the first signature. */
static enum err add_row(struct ring *ring, const struct master_key_row *row, const struct ring_key *file_key,
    struct detail *detail)
{
    struct ring_secrets *secrets = ring->secrets;
    struct ring_key *key;
    if (!row->derived && (file_key == NULL || strcmp(file_key->row.key_id, row->key_id) != 0))
        return detail_set(detail, ERR_CONFIG,
            "MASTER_KEY_FILE does not hold master key %s, which the database needs", row->key_id);
    if (!row->derived)
        return ERR_OK;
    if (secrets->passphrase_len == 0)
        return detail_set(
            detail, ERR_CONFIG, "master key %s needs CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE", row->key_id);
    if (derive(secrets, row, &key) != ERR_OK)
        return detail_set(
            detail, ERR_CONFIG, "no memory (%u MiB) to derive master key %s", KDF_MEMORY >> 20, row->key_id);
    if (strcmp(key->row.key_id, row->key_id) != 0)
        return detail_set(detail, ERR_CONFIG,
            "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE does not match master key %s", row->key_id);
    ring->current = key;
    return ERR_OK;
}

enum err ring_load(
    struct ring *ring, const struct master_key_row rows[], size_t count, bool *is_new, struct detail *detail)
{
    struct ring_secrets *secrets = ring->secrets;
    struct ring_key *file_key = secrets->has_file_key ? add_file_key(secrets) : NULL, *fresh;
    *is_new = true;
    for (size_t i = 0; i < count; i++) {
        enum err e = add_row(ring, &rows[i], file_key, detail);
        if (e != ERR_OK)
            return e;
        *is_new &= rows[i].derived && file_key != NULL;
    }
    if (file_key != NULL)
        ring->current = file_key;
    else if (ring->current == NULL) {
        struct master_key_row row = {.derived = true};
        if (secrets->passphrase_len == 0)
            return detail_set(detail, ERR_CONFIG, "no master key: set MASTER_KEY_FILE (see fairway keygen)");
        randombytes_buf(row.salt, sizeof row.salt);
        if (derive(secrets, &row, &fresh) != ERR_OK)
            return detail_set(
                detail, ERR_CONFIG, "no memory (%u MiB) to derive the master key", KDF_MEMORY >> 20);
        ring->current = fresh;
    }
    sodium_memzero(secrets->passphrase, sizeof secrets->passphrase);
    secrets->passphrase_len = 0;
    sodium_memzero(secrets->file_key, sizeof secrets->file_key);
    return ERR_OK;
}

static const struct ring_key *find(const struct ring *ring, const char *key_id)
{
    for (size_t i = 0; i < ring->secrets->key_count; i++)
        if (strcmp(ring->secrets->keys[i].row.key_id, key_id) == 0)
            return &ring->secrets->keys[i];
    return NULL;
}

static enum err open_seed(struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed)
{
    const struct ring_key *master = find(ring, sealed->key_id);
    return master == NULL ? ERR_SEAL_BROKEN
                          : seal_open(master->bytes, &ring->network, key, sealed, &ring->secrets->open);
}

/* A signature with a memory or arithmetic fault in it can reveal the key, so each is verified before use. */
static enum err sign(
    const uint8_t *secret, const struct public_key *key, const struct hash *hash, struct signature *out)
{
    crypto_sign_detached(out->bytes, NULL, hash->bytes, sizeof hash->bytes, secret);
    if (signature_valid(out, hash, key))
        return ERR_OK;
    *out = (struct signature){0};
    return ERR_INTERNAL;
}

void ring_generate(struct ring *ring, struct generated_key *out)
{
    struct key_pair *open = &ring->secrets->open;
    randombytes_buf(open->seed, sizeof open->seed);
    crypto_sign_seed_keypair(out->public_key.bytes, open->secret, open->seed);
    memcpy(out->sealed.key_id, ring->current->row.key_id, KEY_ID_SIZE);
    seal(ring->current->bytes, &ring->network, &out->public_key, open->seed, &out->sealed);
    key_pair_wipe(open);
}

enum err ring_sign(struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed,
    const struct hash *hash, struct signature *signature)
{
    *signature = (struct signature){0};
    enum err e = open_seed(ring, key, sealed);
    if (e == ERR_OK)
        e = sign(ring->secrets->open.secret, key, hash, signature);
    key_pair_wipe(&ring->secrets->open);
    return e;
}

enum err ring_sign_as_distribution(struct ring *ring, const struct hash *hash, struct signature *signature)
{
    return sign(ring->secrets->distribution.secret, &ring->distribution, hash, signature);
}

enum err ring_check_member(struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed)
{
    enum err e = open_seed(ring, key, sealed);
    key_pair_wipe(&ring->secrets->open);
    return e;
}
