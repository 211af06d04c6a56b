/* A client's TransactionEnvelope, decoded strictly. */
#pragma once

#include "stellar/ids.h"

#define OPERATIONS_MAX 100 /* of the protocol */
#define SIGNATURES_MAX 20  /* of the protocol */

enum envelope_form {
    ENVELOPE_V0,
    ENVELOPE_V1,
    ENVELOPE_FEE_BUMP
};

/* Preconditions (CAP-21) of every form. Zero means absent, as in XDR. */
struct preconditions {
    uint64_t min_time_s, max_time_s;
    uint32_t min_ledger, max_ledger; /* max is exclusive */
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

/* A view: its spans point into the decoded bytes. For a fee bump, all fields but its own are those of the
 * inner transaction. */
struct envelope {
    enum envelope_form form;
    struct bytes fee_bump;        /* XDR FeeBumpTransaction; empty unless it is one */
    struct public_key fee_source; /* of it */
    struct public_key source;
    bool source_muxed;
    uint32_t fee_stroops;
    int64_t sequence;
    struct preconditions preconditions;
    bool has_memo;
    uint32_t operation_count;
    struct bytes operations;  /* operations<100>, count included */
    struct bytes tail;        /* memo, operations, ext: transaction_build copies it */
    bool soroban;             /* SorobanTransactionData present */
    uint32_t read_only_count; /* entries in its footprint */
    uint32_t read_write_count;
    int64_t resource_fee_stroops; /* declared in it, else 0 */
    struct bytes body;           /* XDR Transaction; for V0 the TransactionV0, whose source has no key type */
    struct bytes signature_list; /* signatures<20>, count included; empty when there is no envelope */
    uint32_t signature_count;
    struct decorated_signature signatures[SIGNATURES_MAX];
};

/* The only error is ERR_INVALID_TRANSACTION_XDR, with detail. */
MUST_CHECK enum err envelope_decode(struct bytes xdr, struct envelope *out, struct detail *detail);

/* The same for a TransactionEnvelope that has been validated. Errors: those of xdr.h. */
MUST_CHECK enum err envelope_read(struct bytes xdr, struct envelope *out);

/* The same for an XDR Transaction without an envelope: form V1, no signatures. */
MUST_CHECK enum err transaction_decode(struct bytes xdr, struct envelope *out, struct detail *detail);

/*
 * Whether one of the signatures with this hint is signer's signature of the message. Each that is verified
 * counts *verifications down; at 0 no more are. A client can choose 100 sources and 20 signatures that all
 * have one hint.
 */
bool envelope_verify(const struct envelope *envelope, const uint8_t hint[static 4], struct bytes message,
    const struct public_key *signer, unsigned *verifications);
