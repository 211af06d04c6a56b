/*
 * What the authorization entries of a contract call say about signatures, time and nonces (CAP-46-11,
 * CAP-71). No signature is verified: the payload that an account signs is the account's to define.
 */
#pragma once

#include "stellar/envelope.h"

#define AUTHORIZATION_UNSIGNED_MAX 16

/* One with credentials by address. */
struct authorization_entry {
    struct hash content; /* SHA-256 of key and root invocation; first: see hash_compare */
    struct bytes key; /* SCAddress and nonce. The network consumes a key once, until the entry has expired */
    uint32_t expires_ledger;
    bool consumed; /* by what was simulated */
};

struct authorization {
    /* The least signatureExpirationLedger of the entries: the last ledger in which all count. UINT32_MAX
     * without any. */
    uint32_t expires_ledger;
    /* Those that nobody has signed: their signature is void, and they have no delegates. */
    uint32_t unsigned_count;
    struct bytes unsigned_addresses[AUTHORIZATION_UNSIGNED_MAX]; /* SCAddress, of the first ones */
    struct hash function;                                        /* SHA-256 of the host function */
    struct authorization_entry *entries;                         /* sorted by content, each once */
    size_t count;
};

/* Of all operations of the envelope, which has been decoded. The spans point into it. The caller frees *out,
 * also on error. */
MUST_CHECK enum err authorization_read(const struct envelope *envelope, struct authorization *out);
void authorization_free(struct authorization *authorization);

/* Keeps the entries whose nonce is in the read-write footprint of this envelope, which has
 * SorobanTransactionData. The network consumes no other: nothing asks for them. */
MUST_CHECK enum err authorization_keep_consumed(
    struct authorization *authorization, const struct envelope *envelope);

/* What is called, and by which of the entries (counts[i]: entry i counts; NULL: all): a SHA-256 that neither
 * their order, nor signatures, nor when they expire changes. */
struct hash authorization_digest(const struct authorization *authorization, const bool counts[]);

#define AUTHORIZATION_ADDRESS_SIZE ADDRESS_SIZE
/* Writes G... of an account, also of a muxed one, C... of a contract, or "" of another kind. */
void authorization_address(struct bytes address, char out[static AUTHORIZATION_ADDRESS_SIZE]);
