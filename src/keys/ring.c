/* Holds the keys in guarded pages and signs. No signature leaves without a check, and no key at all. */
#include "ring.h"

#include <sodium.h>
#include <string.h>

#include "base/invariant.h"
#include "base/log.h"

enum err ring_open(struct ring *ring, const struct network_id *network, struct detail *detail)
{
    *ring = (struct ring){.network = *network, .secrets = sodium_malloc(sizeof *ring->secrets)};
    /* sodium_malloc locks the pages too, but does not report when that fails */
    if (ring->secrets == NULL || sodium_mlock(ring->secrets, sizeof *ring->secrets) != 0)
        return detail_set(detail, ERR_CONFIG, "the pages for secrets cannot be locked: raise RLIMIT_MEMLOCK");
    sodium_memzero(ring->secrets, sizeof *ring->secrets);
    return ERR_OK;
}

void ring_close(struct ring *ring)
{
    sodium_memzero(ring->secrets, sizeof *ring->secrets);
    if (ring->seeds != NULL)
        sodium_memzero(ring->seeds, sizeof *ring->seeds);
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

/* Moves the bytes of a key file, if it was given, into the ring. */
static struct ring_key *add_file_key(struct ring_secrets *secrets, bool given, uint8_t bytes[MASTER_KEY_SIZE])
{
    if (!given)
        return NULL;
    struct ring_key *key = add(secrets, &(struct master_key_row){.derived = false});
    memcpy(key->bytes, bytes, MASTER_KEY_SIZE);
    seal_key_id(key->bytes, key->row.key_id);
    sodium_memzero(bytes, MASTER_KEY_SIZE);
    return key;
}

static const struct ring_key *find(const struct ring *ring, const char *key_id)
{
    for (size_t i = 0; i < ring->secrets->key_count; i++)
        if (strcmp(ring->secrets->keys[i].row.key_id, key_id) == 0)
            return &ring->secrets->keys[i];
    return NULL;
}

/* Fails when the secret of a known row is missing, so that a pool whose seeds do not open is found at start
 * and not at the first signature. */
static enum err add_row(struct ring *ring, const struct master_key_row *row, struct detail *detail)
{
    struct ring_secrets *secrets = ring->secrets;
    struct ring_key *key;
    if (!row->derived && find(ring, row->key_id) == NULL)
        return detail_set(detail, ERR_CONFIG,
            "MASTER_KEY_FILE does not hold master key %s, which the database needs%s, but %s:"
            " use the file of the other replicas",
            row->key_id, secrets->has_old_key ? ", nor does OLD_MASTER_KEY_FILE" : "",
            secrets->key_count > 0 ? secrets->keys[0].row.key_id : "none");
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
    struct ring_key *file_key = add_file_key(secrets, secrets->has_file_key, secrets->file_key), *fresh;
    ring->old = add_file_key(secrets, secrets->has_old_key, secrets->old_key);
    for (size_t i = 0; i < count; i++) {
        enum err e = add_row(ring, &rows[i], detail);
        if (e != ERR_OK)
            return e;
    }
    if (file_key != NULL)
        ring->current = file_key;
    else if (ring->current == NULL) {
        struct master_key_row row = {.derived = true};
        INVARIANT(secrets->passphrase_len > 0); /* server.c asks for one of both */
        randombytes_buf(row.salt, sizeof row.salt);
        if (derive(secrets, &row, &fresh) != ERR_OK)
            return detail_set(
                detail, ERR_CONFIG, "no memory (%u MiB) to derive the master key", KDF_MEMORY >> 20);
        ring->current = fresh;
    }
    *is_new = true;
    for (size_t i = 0; i < count; i++)
        *is_new &= strcmp(rows[i].key_id, ring->current->row.key_id) != 0;
    sodium_memzero(secrets->passphrase, sizeof secrets->passphrase);
    secrets->passphrase_len = 0;
    return ERR_OK;
}

void ring_begin(struct ring *ring)
{
    ring->verified = false;
}

/* Opens the seed, signs and wipes the seed. */
static enum err open_and_sign(struct ring *ring, const struct public_key *key,
    const struct sealed_seed *sealed, const struct hash *hash, struct signature *out)
{
    struct key_pair *open = &ring->secrets->open;
    const struct ring_key *master = find(ring, sealed->key_id);
    enum err e =
        master == NULL ? ERR_SEAL_BROKEN : seal_open(master->bytes, &ring->network, key, sealed, open);
    if (e == ERR_OK)
        crypto_sign_detached(out->bytes, NULL, hash->bytes, sizeof hash->bytes, open->secret);
    key_pair_wipe(open);
    return e;
}

static enum err fault(struct ring *ring, struct signature *signature, const char *found_by)
{
    log_error("a signature was computed wrong and is discarded; from now on every signature is verified",
        "found_by=%s", found_by);
    ring->faulty = true;
    *signature = (struct signature){0};
    return ERR_INTERNAL;
}

/* again: the same signature, made a second time; NULL: verify. */
static enum err check(struct ring *ring, const struct public_key *key, const struct hash *hash,
    struct signature *signature, const struct signature *again)
{
    const bool good =
        again == NULL ? signature_valid(signature, hash, key) : memcmp(signature, again, sizeof *again) == 0;
    if (!good)
        return fault(ring, signature, again == NULL ? "verification" : "repetition");
    ring->verified = true;
    return ERR_OK;
}

static bool must_verify(const struct ring *ring)
{
    return !ring->verified || ring->faulty;
}

/* Seals the seed in secrets->open, and wipes that. */
static void seal_seed(struct ring *ring, struct generated_key *out)
{
    struct key_pair *open = &ring->secrets->open;
    crypto_sign_seed_keypair(out->public_key.bytes, open->secret, open->seed);
    memcpy(out->sealed.key_id, ring->current->row.key_id, KEY_ID_SIZE);
    seal(ring->current->bytes, &ring->network, &out->public_key, open->seed, &out->sealed);
    key_pair_wipe(open);
}

/* A fault here makes no unusable account: the new account signs its own creation, and that is verified. */
void ring_generate(struct ring *ring, struct generated_key *out)
{
    randombytes_buf(ring->secrets->open.seed, SEED_SIZE);
    seal_seed(ring, out);
}

enum err ring_sign(struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed,
    const struct hash *hash, struct signature *signature)
{
    struct signature again = {0};
    const bool verify = must_verify(ring);
    *signature = (struct signature){0};
    enum err e = open_and_sign(ring, key, sealed, hash, signature);
    if (e != ERR_OK)
        return e;
    if (!verify && open_and_sign(ring, key, sealed, hash, &again) != ERR_OK)
        return fault(ring, signature, "repetition"); /* the seal is not broken: it has opened before */
    return check(ring, key, hash, signature, verify ? NULL : &again);
}

/* Has the sealed seed open and sign. The signature, of no transaction, is verified and leaves nobody. */
static enum err prove(struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed)
{
    static const char text[] = "fairway: this sealed seed opens";
    struct signature signature;
    struct hash hash;
    crypto_generichash(hash.bytes, sizeof hash.bytes, (const uint8_t *)text, sizeof text - 1, NULL, 0);
    ring_begin(ring);
    enum err e = ring_sign(ring, key, sealed, &hash, &signature);
    sodium_memzero(&signature, sizeof signature);
    return e;
}

enum err ring_import(struct ring *ring, const uint8_t seed[static SEED_SIZE], struct generated_key *out)
{
    memcpy(ring->secrets->open.seed, seed, SEED_SIZE);
    seal_seed(ring, out);
    if (prove(ring, &out->public_key, &out->sealed) == ERR_OK)
        return ERR_OK;
    *out = (struct generated_key){0};
    return ERR_INTERNAL;
}

enum err ring_reseal(struct ring *ring, const struct public_key *key, struct sealed_seed *sealed)
{
    struct key_pair *open = &ring->secrets->open;
    const struct ring_key *master = find(ring, sealed->key_id);
    struct sealed_seed fresh;
    enum err e =
        master == NULL ? ERR_SEAL_BROKEN : seal_open(master->bytes, &ring->network, key, sealed, open);
    if (e == ERR_OK) {
        memcpy(fresh.key_id, ring->current->row.key_id, KEY_ID_SIZE);
        seal(ring->current->bytes, &ring->network, key, open->secret, &fresh); /* begins with the seed */
    }
    key_pair_wipe(open);
    if (e != ERR_OK)
        return e;
    if (prove(ring, key, &fresh) != ERR_OK)
        return ERR_INTERNAL;
    *sealed = fresh;
    return ERR_OK;
}

/* The public half is compared each time: with a damaged one the signature would reveal the key (seal_open),
 * and making it twice would not find that. */
static bool sign_as_distribution(const struct ring *ring, const struct hash *hash, struct signature *out)
{
    const uint8_t *secret = ring->secrets->distribution.secret;
    if (memcmp(secret + SEED_SIZE, ring->distribution.bytes, sizeof ring->distribution) != 0)
        return false;
    crypto_sign_detached(out->bytes, NULL, hash->bytes, sizeof hash->bytes, secret);
    return true;
}

enum err ring_sign_as_distribution(struct ring *ring, const struct hash *hash, struct signature *signature)
{
    struct signature again;
    const bool verify = must_verify(ring);
    if (!sign_as_distribution(ring, hash, signature) ||
        (!verify && !sign_as_distribution(ring, hash, &again)))
        return fault(ring, signature, "public_key");
    return check(ring, &ring->distribution, hash, signature, verify ? NULL : &again);
}

/* Ed25519 signatures are deterministic (RFC 8032 section 5.1.6): to make it again costs a third of verifying
 * it. It stays secret if the transaction does not have it. */
enum err ring_check_signed(struct ring *ring, const struct envelope *transaction,
    const struct sealed_seed *sealed, const struct hash *hash)
{
    struct signature expected;
    enum err e = open_and_sign(ring, &transaction->source, sealed, hash, &expected);
    if (e != ERR_OK)
        return e;
    e = ERR_CHANNEL_SIGNATURE_MISSING;
    for (uint32_t i = 0; i < transaction->signature_count; i++) {
        const struct bytes given = transaction->signatures[i].signature;
        if (given.len == sizeof expected && sodium_memcmp(given.data, expected.bytes, sizeof expected) == 0)
            e = ERR_OK;
    }
    sodium_memzero(&expected, sizeof expected);
    return e;
}
