/*
 * The envelopes of transactions in built ledgers. A test names a transaction by its hash; the transaction set
 * needs the envelope. Known are the transactions of built_hash, and those that a test has added.
 */
#pragma once

#include "stellar/ids.h"

/* Adds a signed envelope (V1) with the hash of its transaction. Copies the bytes. Thread-safe, as all here.
 */
void envelope_add(const struct hash *hash, struct bytes envelope);

/* Appends the known envelope with this hash, and returns true. */
bool envelope_find(const struct hash *hash, struct buf *out);

/* Appends an envelope with this operation (empty: none) and no signatures. salt makes its hash differ from
 * that of others. */
void envelope_make(const struct public_key *source, int64_t sequence, const struct hash *salt,
    struct bytes operation, struct buf *out);

/* Appends the fee bump of a V1 envelope, by ENVELOPE_FEE_SOURCE. */
#define ENVELOPE_FEE_SOURCE ((struct public_key){{0xfe}})
void envelope_wrap(struct bytes inner, struct buf *out);

/* The hash of an envelope made by these functions, or of any V1 envelope that envelope_find returned. */
struct hash envelope_hash_of(const struct network_id *network, struct bytes envelope);
