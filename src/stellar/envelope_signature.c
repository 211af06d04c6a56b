#include "stellar/envelope.h"

#include <string.h>

bool envelope_signed_by(
    const struct envelope *envelope, const struct public_key *signer, const struct hash *hash)
{
    for (uint32_t i = 0; i < envelope->signature_count; i++) {
        const struct decorated_signature *decorated = &envelope->signatures[i];
        struct signature signature;
        if (memcmp(decorated->hint, signer->bytes + sizeof signer->bytes - sizeof decorated->hint,
                sizeof decorated->hint) != 0 ||
            decorated->signature.len != sizeof signature.bytes)
            continue;
        memcpy(signature.bytes, decorated->signature.data, sizeof signature.bytes);
        if (signature_valid(&signature, hash, signer))
            return true;
    }
    return false;
}
