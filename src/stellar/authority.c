/* Looks for a signature of the user. It never proves that a transaction has all signatures that it needs. */
#include "stellar/authority.h"

#include <string.h>

#include "operation.h"
#include "signer_key.h"
#include "stellar/policy.h"
#include "xdr/xdr.h"

struct search {
    const struct envelope *envelope;
    const struct hash *hash;
    unsigned *verifications; /* that may still be made */
    bool found;
};

static bool signed_by_key(struct search *search, const struct public_key *key)
{
    return envelope_verify(
        search->envelope, public_key_hint(key), BYTES_OF(search->hash->bytes), key, search->verifications);
}

/* What the channel account has signed is not the user's consent. */
static bool signed_by_user(struct search *search, const struct public_key *key)
{
    return !public_key_equal(key, &search->envelope->source) && signed_by_key(search, key);
}

/* The preimage of a hash takes the place of the signature, and the hint is the hash's end (CAP-21). */
static bool has_preimage(const struct envelope *envelope, const struct signer_key *signer)
{
    for (uint32_t i = 0; i < envelope->signature_count; i++) {
        const struct hash hash = sha256(envelope->signatures[i].signature);
        if (memcmp(hash.bytes, signer->bytes, sizeof hash.bytes) == 0)
            return true;
    }
    return false;
}

/* CAP-40: the payload itself is signed. The hint is the key's, combined with the payload's last bytes by
 * exclusive or; a shorter payload is padded with zeros. */
static bool has_payload_signature(struct search *search, const struct signer_key *signer)
{
    const struct bytes payload = signer->payload;
    uint8_t end[4] = {0}, hint[4];
    const size_t tail = payload.len < sizeof end ? payload.len : sizeof end;
    struct public_key key;
    memcpy(key.bytes, signer->bytes, sizeof key.bytes);
    memcpy(end, payload.data + payload.len - tail, tail);
    for (size_t i = 0; i < sizeof hint; i++)
        hint[i] = public_key_hint(&key)[i] ^ end[i];
    return envelope_verify(search->envelope, hint, payload, &key, search->verifications);
}

static bool signed_by(struct search *search, const struct signer_key *signer)
{
    struct public_key key;
    switch (signer->kind) {
    case SIGNER_ED25519:
        memcpy(key.bytes, signer->bytes, sizeof key.bytes);
        return signed_by_user(search, &key);
    case SIGNER_HASH_X:
        return has_preimage(search->envelope, signer);
    case SIGNER_ED25519_SIGNED_PAYLOAD:
        return has_payload_signature(search, signer);
    case SIGNER_PRE_AUTH_TX: /* needs no signature: of an account that approves exactly this transaction */
        return memcmp(search->hash->bytes, signer->bytes, sizeof search->hash->bytes) == 0;
    default:
        return false;
    }
}

static enum err try_signer(struct bytes xdr, void *context)
{
    struct search *search = context;
    struct signer_key signer;
    enum err e = signer_key_read(xdr, &signer);
    if (e == ERR_OK && !search->found)
        search->found = signed_by(search, &signer);
    return e;
}

static bool signed_by_source(struct search *search)
{
    struct public_key sources[OPERATIONS_MAX];
    const size_t count = authority_sources(search->envelope, sources);
    for (size_t i = 0; i < count; i++)
        if (signed_by_user(search, &sources[i]))
            return true;
    return false;
}

static bool signed_by_extra_signer(struct search *search)
{
    const struct preconditions *preconditions = &search->envelope->preconditions;
    struct xdr_reader in = xdr_reader(preconditions->extra_signers);
    if (preconditions->extra_signer_count == 0)
        return false;
    enum err e = ERR_OK;
    for (uint32_t count = xdr_u32(&in); e == ERR_OK && count > 0; count--)
        e = try_signer(xdr_take(&in, XDR_SignerKey), search);
    return e == ERR_OK && search->found;
}

enum authority authority_of(const struct envelope *envelope, const struct hash *hash)
{
    unsigned verifications = AUTHORITY_VERIFICATIONS_MAX;
    struct search search = {envelope, hash, &verifications, false};
    if (envelope->signature_count == 0)
        return AUTHORITY_UNSIGNED;
    if (policy_invokes_for_entries(envelope) && envelope->preconditions.extra_signer_count == 0)
        return signed_by_key(&search, &envelope->source) ? AUTHORITY_PROVED : AUTHORITY_CHANNEL_MISSING;
    if (envelope->signature_count > 1 && (signed_by_source(&search) || signed_by_extra_signer(&search)))
        return AUTHORITY_PROVED;
    if (!signed_by_key(&search, &envelope->source))
        return AUTHORITY_CHANNEL_MISSING;
    return envelope->signature_count == 1 ? AUTHORITY_CHANNEL_ONLY : AUTHORITY_UNKNOWN;
}

struct sources {
    struct public_key *keys;
    size_t count;
};

static enum err add_source(const struct operation *operation, void *context)
{
    struct sources *sources = context;
    for (size_t i = 0; i < sources->count; i++)
        if (public_key_equal(&sources->keys[i], &operation->source))
            return ERR_OK;
    if (operation->has_source)
        sources->keys[sources->count++] = operation->source;
    return ERR_OK;
}

size_t authority_sources(const struct envelope *envelope, struct public_key out[static OPERATIONS_MAX])
{
    struct sources sources = {out, 0};
    return operation_each(envelope->operations, add_source, &sources) == ERR_OK ? sources.count : 0;
}

bool authority_proved_by(const struct envelope *envelope, const struct hash *hash, struct bytes account_entry,
    unsigned *verifications)
{
    struct search search = {envelope, hash, verifications, false};
    struct xdr_reader in = xdr_reader(account_entry);
    return xdr_each(&in, XDR_LedgerEntryData, XDR_Signer, try_signer, &search) == ERR_OK && search.found;
}
