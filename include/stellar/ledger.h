/*
 * Reads from a LedgerCloseMeta (V0, V1, V2; CAP-63, CAP-66, CAP-67, CAP-83) what is needed to settle leases:
 * the header with its proof, each transaction with its result, and the last state of each account that the
 * ledger touched. Everything else is validated and skipped.
 *
 * Header, transactions and results are covered by the hash of the ledger. The changes of ledger entries are
 * covered by no hash: accounts and frozen are what the sender of the metadata says.
 */
#ifndef FAIRWAY_STELLAR_LEDGER_H
#define FAIRWAY_STELLAR_LEDGER_H

#include "stellar/frozen.h"
#include "stellar/ids.h"

/* One element of txProcessing. */
struct ledger_transaction {
    struct hash hash; /* of the envelope as submitted: the fee bump's own hash for a fee bump */
    int32_t code;     /* TransactionResultCode */
    bool fee_bump;    /* code is txFEE_BUMP_INNER_SUCCESS or _FAILED: the inner fields are set */
    struct hash inner_hash;
    int32_t inner_code;
    /* Of the innermost transaction, from the transaction set; unset unless set_proved. */
    struct public_key source; /* without the id of a muxed account */
    int64_t sequence;
    bool consumed; /* the result proves that the source's sequence number became `sequence` */
};

/* The last state of an account in this ledger, after fees, apply, post-apply fees and upgrades. */
struct ledger_account {
    struct public_key key;
    bool removed; /* the fields below are unset */
    int64_t sequence;
    /* The master key alone can sign everything: there is no other signer, and the master weight is at least 1
     * and no threshold is above it. */
    bool own_authority;
    int64_t balance_stroops;
    /* Base reserves that the balance must cover: two, one for each sub-entry, plus sponsoring, less
     * sponsored. */
    int64_t reserves;
    int64_t selling_stroops; /* of the balance, reserved for offers */
};

struct ledger {
    uint32_t meta_version; /* 0, 1, 2 */
    uint32_t protocol;
    uint32_t sequence;
    uint64_t close_time_s;
    uint32_t base_reserve_stroops;
    struct hash hash, previous_hash;
    bool hash_proved;    /* SHA-256 of the header is hash */
    bool results_proved; /* SHA-256 of the TransactionResultSet is the header's txSetResultHash */
    /* The transaction set has the header's txSetHash, and its transactions are those of the results. */
    bool set_proved;
    struct ledger_transaction *transactions;
    size_t transaction_count;
    struct ledger_account *accounts; /* sorted by key, each once */
    size_t account_count;
    struct frozen_accounts frozen; /* the whole new list when this ledger changed it, else empty */
};

/*
 * Decodes exactly one LedgerCloseMeta into *ledger, which the caller frees with ledger_free; empty on error.
 * network is for the hashes of transactions: with another one, or NULL, no set is proved unless it is empty.
 * Errors: those of xdr.h. ERR_XDR_UNKNOWN_ARM means that the network runs a protocol newer than this build. A
 * proof that does not hold is not an error here: the caller checks hash_proved, results_proved and
 * set_proved. detail (may be NULL) says at which byte and in which part decoding failed.
 */
MUST_CHECK enum err ledger_decode(
    struct bytes meta, const struct network_id *network, struct ledger *ledger, struct detail *detail);
void ledger_free(struct ledger *ledger); /* {0} is fine */

/* Finds a key in ledger->accounts. NULL when the ledger did not touch the account. */
const struct ledger_account *ledger_account(const struct ledger *ledger, const struct public_key *key);

#endif
