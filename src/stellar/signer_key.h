/* SignerKey in XDR: extra signers of a transaction, and signers of an account. */
#pragma once

#include "stellar/ids.h"

/* SignerKeyType. Every kind that the rules cover. */
enum signer_kind {
    SIGNER_ED25519 = 0,
    SIGNER_PRE_AUTH_TX = 1,
    SIGNER_HASH_X = 2,
    SIGNER_ED25519_SIGNED_PAYLOAD = 3, /* CAP-40 */
};

struct signer_key {
    uint32_t kind;
    uint8_t bytes[32];    /* a public key, or the hash of a transaction or of a preimage */
    struct bytes payload; /* of a signed payload, else empty; points into the XDR */
};

/* Reads a SignerKey, or the one that a Signer begins with. The XDR has been validated. */
MUST_CHECK enum err signer_key_read(struct bytes xdr, struct signer_key *out);

/* Whether a signature by a public key satisfies it; that key is copied to *key. */
bool signer_key_account(const struct signer_key *signer, struct public_key *key);
