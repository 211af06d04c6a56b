/* Keys, hashes and signatures as types of their own, their text forms (SEP-23), SHA-256 and Ed25519. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

/* An Ed25519 public key, which is an account id. */
struct public_key {
    uint8_t bytes[32];
};

/* SHA-256 of a transaction's signature payload, a ledger header or a result set. */
struct hash {
    uint8_t bytes[32];
};

/* SHA-256 of the network passphrase. Every signature payload begins with it. */
struct network_id {
    uint8_t bytes[32];
};

/* An Ed25519 signature of a hash. */
struct signature {
    uint8_t bytes[64];
};

/* "G..." with its terminator. */
#define ADDRESS_SIZE 57
/* 64 lower-case hexadecimal digits with the terminator. */
#define HASH_HEX_SIZE 65

bool public_key_equal(const struct public_key *a, const struct public_key *b);
int public_key_compare(const void *a, const void *b); /* for qsort and bsearch */
/* Its last four bytes, which say in a transaction whose signature one is. */
const uint8_t *public_key_hint(const struct public_key *key);
bool hash_equal(const struct hash *a, const struct hash *b);
/* For qsort and bsearch, of hashes or of what begins with one. */
int hash_compare(const void *a, const void *b);

/* Writes the strkey G... of an account (SEP-23). */
void address_encode(const struct public_key *key, char out[static ADDRESS_SIZE]);
/* Takes G... only, and checks version byte, checksum, length and case; else ERR_MALFORMED. */
MUST_CHECK enum err address_decode(const char *text, struct public_key *out);

void hash_encode(const struct hash *hash, char out[static HASH_HEX_SIZE]);
/* 64 digits of either case, else ERR_MALFORMED. */
MUST_CHECK enum err hash_decode(const char *text, struct hash *out);

struct hash sha256(struct bytes bytes);
/* The hash of the concatenated parts. */
struct hash sha256_parts(const struct bytes parts[], size_t count);
struct network_id network_id_of(const char *passphrase);

/*
 * Whether signature is key's signature of message (Ed25519, RFC 8032). Strict: a signature whose S is not
 * reduced, an R or a key of small order, and a key that is not canonical are invalid.
 */
bool signature_valid_of(
    const struct signature *signature, struct bytes message, const struct public_key *key);
/* The same for a hash as the message. */
bool signature_valid(
    const struct signature *signature, const struct hash *hash, const struct public_key *key);
