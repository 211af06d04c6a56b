/*
 * Transactions, fee bumps and their envelopes as fairway writes them, and their hashes. Operations, memo and
 * extension of a client's transaction are copied byte for byte, never re-encoded.
 */
#pragma once

#include "stellar/envelope.h"

/* What replaces the head of a client's transaction. */
struct transaction_head {
    struct public_key source;
    uint32_t fee_stroops;
    int64_t sequence;
    uint64_t max_time_s; /* replaces the client's; the other preconditions are kept */
};

/*
 * Appends the XDR Transaction (not the envelope): head, then the client's tail. PRECOND_TIME when only time
 * bounds are left, else PRECOND_V2. Never writes minSeqNum, minSeqAge or minSeqLedgerGap: policy_check
 * refuses transactions that have them.
 */
void transaction_build(const struct envelope *client, const struct transaction_head *head, struct buf *out);

/* Appends the TransactionEnvelope of a call: an InvokeHostFunction without a source, by this source of the
 * transaction. function is a HostFunction, entries are count SorobanAuthorizationEntry values. */
void envelope_build_call(const struct public_key *source, struct bytes function, struct bytes entries,
    uint32_t count, struct buf *out);

/* Appends client's transaction as a V1 envelope with this SorobanTransactionData and without signatures. */
void envelope_build_with_resources(const struct envelope *client, struct bytes data, struct buf *out);

/* The bytes of the envelope that a lease of this transaction becomes, with this many signatures. */
size_t envelope_built_size(const struct envelope *client, size_t signature_count);

/* SHA-256 of the TransactionSignaturePayload of an XDR Transaction. */
struct hash transaction_hash(const struct network_id *network, struct bytes transaction);

/* The hash of the client's own transaction; of a fee bump, of the inner one. V0 hashes as V1. */
struct hash envelope_hash(const struct network_id *network, const struct envelope *envelope);

/* Appends a V1 TransactionEnvelope with count signatures. A hint is the last four bytes of the key. */
void envelope_build(struct bytes transaction, const struct public_key signers[],
    const struct signature signatures[], size_t count, struct buf *out);

/* Appends the XDR FeeBumpTransaction that carries inner as V1, with its signatures (CAP-15). */
void fee_bump_build(
    const struct envelope *inner, const struct public_key *fee_source, int64_t fee_stroops, struct buf *out);

/* SHA-256 of the TransactionSignaturePayload of an XDR FeeBumpTransaction. */
struct hash fee_bump_hash(const struct network_id *network, struct bytes fee_bump);

/* Appends the fee bump's TransactionEnvelope with one signature. */
void fee_bump_envelope_build(struct bytes fee_bump, const struct public_key *signer,
    const struct signature *signature, struct buf *out);
/* The inner transaction's TransactionEnvelope in such bytes. */
struct bytes fee_bump_inner(struct bytes envelope);
