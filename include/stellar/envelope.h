/*
 * A client's TransactionEnvelope, decoded strictly, and the envelope that goes back. The operations, memo and
 * extension are never re-encoded: what is written is the client's own bytes around a new head.
 */
#ifndef FAIRWAY_STELLAR_ENVELOPE_H
#define FAIRWAY_STELLAR_ENVELOPE_H

#include "stellar/ids.h"

#define OPERATIONS_MAX 100 /* of the protocol */
#define SIGNATURES_MAX 20  /* of the protocol */

enum envelope_form {
    ENVELOPE_V0,
    ENVELOPE_V1,
    ENVELOPE_FEE_BUMP
};

/* Preconditions (CAP-21), all forms brought to one; zero means absent, as on the wire. */
struct preconditions {
    uint64_t min_time_s, max_time_s;
    uint32_t min_ledger, max_ledger; /* max exclusive; 0 none */
    bool has_min_sequence;
    int64_t min_sequence;
    uint64_t min_sequence_age_s;
    uint32_t min_sequence_ledger_gap;
    uint32_t extra_signer_count;
    struct bytes extra_signers; /* SignerKey extraSigners<2>, count included; empty when absent */
};

struct decorated_signature {
    uint8_t hint[4];
    struct bytes signature; /* at most 64 bytes */
};

/* A view: spans point into the decoded bytes. For a fee bump everything is the inner transaction's. */
struct envelope {
    enum envelope_form form;
    struct public_key source;
    bool source_muxed;
    uint32_t fee_stroops;
    int64_t sequence;
    struct preconditions preconditions;
    bool has_memo;
    uint32_t operation_count;
    struct bytes operations;      /* operations<100>, count included */
    struct bytes tail;            /* memo, operations, ext: what the output copies */
    bool soroban;                 /* SorobanTransactionData present */
    int64_t resource_fee_stroops; /* declared in it, else 0 */
    struct bytes body;            /* XDR Transaction; of V0 the TransactionV0, which lacks the key type before
                                     the source */
    struct bytes signature_list;  /* signatures<20>, count included; empty when there is no envelope */
    uint32_t signature_count;
    struct decorated_signature signatures[SIGNATURES_MAX];
};

/* Any error is the client's: ERR_INVALID_TRANSACTION_XDR with detail. */
MUST_CHECK enum err envelope_decode(struct bytes xdr, struct envelope *out, struct detail *detail);

/* The same for an XDR Transaction that is in no envelope: form V1, no signatures. */
MUST_CHECK enum err transaction_decode(struct bytes xdr, struct envelope *out, struct detail *detail);

/* The head of a transaction as fairway writes it. */
struct transaction_head {
    struct public_key source;
    uint32_t fee_stroops;
    int64_t sequence;
    uint64_t max_time_s; /* replaces the client's; the other preconditions stay */
};

/*
 * Appends the XDR Transaction (not the envelope): head around envelope->tail. PRECOND_TIME when only times
 * are left, else PRECOND_V2. minSeqNum, minSeqAge and minSeqLedgerGap are never written: policy_check refuses
 * transactions that have them.
 */
void transaction_build(const struct envelope *client, const struct transaction_head *head, struct buf *out);

/* SHA-256 of the TransactionSignaturePayload: network, ENVELOPE_TYPE_TX, transaction (an XDR Transaction). */
struct hash transaction_hash(const struct network_id *network, struct bytes transaction);
/* The hash of the client's own transaction (of a fee bump: the inner one). V0 hashes as V1 does. */
struct hash envelope_hash(const struct network_id *network, const struct envelope *envelope);

/* Appends the V1 TransactionEnvelope with exactly one signature; the hint is the key's last four bytes. */
void envelope_build(struct bytes transaction, const struct public_key *signer,
    const struct signature *signature, struct buf *out);

/* Appends the XDR FeeBumpTransaction that carries inner as V1, with its signatures (CAP-15). */
void fee_bump_build(
    const struct envelope *inner, const struct public_key *fee_source, int64_t fee_stroops, struct buf *out);
/* SHA-256 of the TransactionSignaturePayload of an XDR FeeBumpTransaction. */
struct hash fee_bump_hash(const struct network_id *network, struct bytes fee_bump);
/* Appends the fee bump TransactionEnvelope with one signature. */
void fee_bump_envelope_build(struct bytes fee_bump, const struct public_key *signer,
    const struct signature *signature, struct buf *out);

/* Whether one of the signatures is signer's, by hint and by Ed25519 over hash. */
bool envelope_signed_by(
    const struct envelope *envelope, const struct public_key *signer, const struct hash *hash);

#endif
