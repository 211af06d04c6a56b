/* Reads signer keys. Whether one has signed is found by authority.c. */
#include "signer_key.h"

#include <string.h>

#include "xdr/xdr.h"

enum err signer_key_read(struct bytes xdr, struct signer_key *out)
{
    struct xdr_reader in = xdr_reader(xdr);
    uint32_t len;
    *out = (struct signer_key){0};
    enum err e = xdr_u32(&in, &out->kind);
    if (e == ERR_OK)
        e = xdr_opaque(&in, out->bytes, sizeof out->bytes);
    if (e != ERR_OK || out->kind != SIGNER_ED25519_SIGNED_PAYLOAD || (e = xdr_u32(&in, &len)) != ERR_OK)
        return e;
    out->payload = (struct bytes){in.at, len};
    return ERR_OK;
}

bool signer_key_account(const struct signer_key *signer, struct public_key *key)
{
    memcpy(key->bytes, signer->bytes, sizeof key->bytes);
    return signer->kind == SIGNER_ED25519 || signer->kind == SIGNER_ED25519_SIGNED_PAYLOAD;
}
