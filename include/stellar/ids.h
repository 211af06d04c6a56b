/* The field's identifiers as types of their own, never bare arrays, and their text forms (SEP-23). */
#ifndef FAIRWAY_STELLAR_IDS_H
#define FAIRWAY_STELLAR_IDS_H

#include "base/bytes.h"
#include "base/err.h"

/* An Ed25519 public key, which is an account's id. */
struct public_key {
    uint8_t bytes[32];
};

/* SHA-256 of a transaction's signature payload, a ledger header, a result set. */
struct hash {
    uint8_t bytes[32];
};

/* SHA-256 of the network passphrase; part of every signature payload. */
struct network_id {
    uint8_t bytes[32];
};

/* Ed25519 over a hash. */
struct signature {
    uint8_t bytes[64];
};

/* "G..." with its terminator. */
#define ADDRESS_SIZE 57
/* 64 lower-case hexadecimal digits with the terminator. */
#define HASH_HEX_SIZE 65

bool public_key_equal(const struct public_key *a, const struct public_key *b);
int public_key_compare(const void *a, const void *b); /* for qsort and bsearch */
bool hash_equal(const struct hash *a, const struct hash *b);
int hash_compare(const void *a, const void *b);

/* Strkey G... of an account (SEP-23). */
void address_encode(const struct public_key *key, char out[static ADDRESS_SIZE]);
/* Strict: version byte, checksum, length, no lower case. Only G...; ERR_MALFORMED for anything else. */
MUST_CHECK enum err address_decode(const char *text, struct public_key *out);
/* The account behind G... or M... */
MUST_CHECK enum err address_resolve(const char *text, struct public_key *out);

void hash_encode(const struct hash *hash, char out[static HASH_HEX_SIZE]);
MUST_CHECK enum err hash_decode(
    const char *text, struct hash *out); /* 64 digits of either case, else ERR_MALFORMED */

struct hash sha256(struct bytes bytes);
struct network_id network_id_of(const char *passphrase);

/* Whether signature is key's over hash (RFC 8032, libsodium's strict verification). */
bool signature_valid(
    const struct signature *signature, const struct hash *hash, const struct public_key *key);

#endif
