/* Reads signer keys. Whether one has signed is found by authority.c. */
#include "signer_key.h"

#include <string.h>

#include "xdr/xdr.h"

enum err signer_key_read(struct bytes xdr, struct signer_key *out)
{
    struct xdr_reader in = xdr_reader(xdr);
    *out = (struct signer_key){.kind = xdr_u32(&in)};
    xdr_opaque(&in, out->bytes, sizeof out->bytes);
    if (out->kind == SIGNER_ED25519_SIGNED_PAYLOAD) {
        const uint32_t len = xdr_u32(&in);
        out->payload = (struct bytes){in.at, len};
    }
    return in.e;
}

bool signer_key_account(const struct signer_key *signer, struct public_key *key)
{
    memcpy(key->bytes, signer->bytes, sizeof key->bytes);
    return signer->kind == SIGNER_ED25519 || signer->kind == SIGNER_ED25519_SIGNED_PAYLOAD;
}
