/*
 * Reads from a LedgerCloseMeta (V0, V1, V2; CAP-63, CAP-66, CAP-67, CAP-83, CAP-88) what is needed to settle
 * leases: the header with its proof, each transaction with its result, and the operations of those that
 * succeeded. All of this is covered by the hash of the ledger. Everything else, such as the changes of ledger
 * entries, is covered by no hash: it is validated and skipped. Of a transaction's metadata only the return
 * value is read, later, because its result has a hash of that (stellar/return_value.h).
 */
#pragma once

#include "stellar/envelope.h"
#include "stellar/stellar_value.h"

/* One element of txProcessing. */
struct ledger_transaction {
    struct hash hash; /* of the envelope as submitted: the fee bump's own hash for a fee bump */
    int32_t code;     /* TransactionResultCode */
    bool fee_bump;    /* code is txFEE_BUMP_INNER_SUCCESS or _FAILED: the inner fields are set */
    struct hash inner_hash;
    int32_t inner_code;
    struct bytes result; /* TransactionResult */
    struct bytes meta;   /* TransactionMeta, which no hash covers. Both point into the LedgerCloseMeta */
    /* From the transaction set, without the ids of muxed accounts. Not to be used unless set_proved. */
    struct public_key fee_source; /* of the envelope as submitted: other than source only for a fee bump */
    struct public_key source;     /* of the innermost transaction, as sequence */
    int64_t sequence;
    bool consumed; /* the result proves that the source's sequence number became `sequence` */
};

/*
 * What an operation did to an account whose authority it used, or which it created. An account's sequence
 * number, signers, thresholds and existence change in no other way but this and by a consumed sequence
 * number.
 */
enum ledger_deed {
    DEED_CREATED,          /* it was created, with the sequence number that ledger_first_sequence returns */
    DEED_MERGED,           /* it is the source of an accountMerge, which removed it */
    DEED_ENDED_SPONSORING, /* it is the source of an endSponsoringFutureReserves, which changes nothing of it
                            */
    DEED_OTHER,            /* it is the source of another operation */
};

/* An operation of a transaction that succeeded. createAccount is two: for its source, and for the account. A
 * contract call without a source that authorization entries by address alone authorize is none. */
struct ledger_operation {
    enum ledger_deed deed;
    uint32_t transaction; /* index in transactions */
    struct public_key account;
};

/* Where transactions compete with each other for room (CAP-42, CAP-46-07). */
enum lane {
    LANE_CLASSIC,
    LANE_DEX, /* offers and path payments: they have less room, and that of all classic ones */
    LANE_SOROBAN,
    LANE_COUNT
};
enum lane lane_of(const struct envelope *envelope);

struct ledger {
    uint32_t meta_version; /* 0, 1, 2 */
    uint32_t protocol;
    uint32_t sequence;
    struct stellar_value value;
    uint64_t close_time_s; /* the value's */
    uint32_t base_reserve_stroops;
    uint32_t max_operations; /* maxTxSetSize: how many operations a ledger may have */
    /* By lane: what the least bid in the transaction set offers for an operation, which all others pay too.
     * 0: it is the network's base fee, because there was room for all. */
    int64_t prices_stroops[LANE_COUNT];
    struct hash hash, previous_hash;
    bool hash_proved;    /* SHA-256 of the header is hash */
    bool results_proved; /* SHA-256 of the TransactionResultSet is the header's txSetResultHash */
    /* The transaction set has the header's txSetHash, and its transactions are those of the results. */
    bool set_proved;
    struct hash set_previous_hash; /* previousLedgerHash of the transaction set */
    struct ledger_transaction *transactions;
    size_t transaction_count;
    struct ledger_operation *operations; /* in the order of transactions; not to be used unless set_proved */
    size_t operation_count;
    uint32_t operation_total; /* of all transactions; a fee bump counts as one more. 0 unless set_proved */
};

/*
 * Decodes exactly one LedgerCloseMeta into *ledger, which the caller frees with ledger_free; empty on error.
 * meta must live as long as result and meta of its transactions are used.
 * network is for the hashes of transactions: with another one, or NULL, no set is proved unless it is empty.
 * Errors: those of xdr.h. ERR_XDR_UNKNOWN_ARM means that the network runs a protocol newer than this build. A
 * proof that does not hold is not an error here: the caller checks hash_proved, results_proved and
 * set_proved. detail (may be NULL) says at which byte decoding failed, and of an unknown arm which type and
 * value it is.
 */
MUST_CHECK enum err ledger_decode(
    struct bytes meta, const struct network_id *network, struct ledger *ledger, struct detail *detail);
void ledger_free(struct ledger *ledger); /* {0} is fine */

/* The hash of the innermost transaction. */
const struct hash *ledger_inner_hash(const struct ledger_transaction *transaction);

/* The sequence number of an account that this ledger creates: stellar-core, getStartingSequenceNumber. */
int64_t ledger_first_sequence(uint32_t ledger);
