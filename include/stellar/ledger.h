/*
 * What releasing leases needs from a LedgerCloseMeta (V0, V1, V2; CAP-63, CAP-66, CAP-67, CAP-83): the header
 * with its proof, the result of each transaction, and the last state of each account that the ledger touched.
 * Everything else is validated and passed.
 */
#ifndef FAIRWAY_STELLAR_LEDGER_H
#define FAIRWAY_STELLAR_LEDGER_H

#include "stellar/ids.h"

/* One processed transaction, in the order of txProcessing (apply order). */
struct ledger_transaction {
    struct hash hash; /* of the envelope as submitted: the fee bump's own hash for a fee bump */
    int32_t code;     /* TransactionResultCode */
    bool fee_bump;    /* code is txFEE_BUMP_INNER_SUCCESS or _FAILED: the inner fields are set */
    struct hash inner_hash;
    int32_t inner_code;
};

/* The last state of an account in this ledger: over fee processing of all transactions, then apply of all,
   then post-apply fee processing of all, then upgrades. */
struct ledger_account {
    struct public_key key;
    bool removed; /* then nothing below holds */
    int64_t sequence;
    bool
        own_authority; /* the master key alone can sign everything: no other signer, sponsored or not, and a
                          master weight of at least 1 and each of the thresholds, which may be in any order */
    int64_t balance_stroops;
    int64_t reserves; /* how many base reserves the balance has to cover: its own, its entries', what it
                         sponsors, less what others sponsor */
    int64_t selling_stroops; /* of the balance, promised to offers */
};

/* Accounts that the network's list of frozen ledger keys names (CAP-77, from protocol 26): no transaction
 * that touches one is valid, and nothing of it is consumed. Sorted. {0} is empty. */
struct frozen_accounts {
    struct public_key *keys;
    size_t count;
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
    struct ledger_transaction *transactions;
    size_t transaction_count;
    struct ledger_account *accounts; /* sorted by key, each once */
    size_t account_count;
    struct frozen_accounts frozen; /* the whole list, if this ledger changed it; else empty */
};

/*
 * Decodes exactly one LedgerCloseMeta. Fills *ledger (ledger_free when done, also usable on {0}); on error it
 * is empty. Errors: those of xdr.h; ERR_XDR_UNKNOWN_ARM means that the network upgraded past this build. A
 * failed proof is not an error here: the caller refuses it (DESIGN section 5). detail (may be NULL) says
 * where.
 */
MUST_CHECK enum err ledger_decode(struct bytes meta, struct ledger *ledger, struct detail *detail);
void ledger_free(struct ledger *ledger);

/* Whether an innermost result code in a ledger proves that the sequence number was consumed: success, and
 * what fails after that point. */
bool result_consumes_sequence(int32_t code);
/* "txSUCCESS", "txFAILED", ...; "tx?" for a code that the schema lacks, which no decoding gives. */
const char *result_code_name(int32_t code);

/* Looks a key up in ledger->accounts; NULL when the ledger did not touch it. */
const struct ledger_account *ledger_account(const struct ledger *ledger, const struct public_key *key);

/* A LedgerEntryData as getLedgerEntries answers it (stellar-rpc: `xdr`), which must be of an account. */
MUST_CHECK enum err account_entry_decode(struct bytes entry, struct ledger_account *out);
/* LedgerKey of an account, XDR, appended: what getLedgerEntries is asked for. */
void account_ledger_key(const struct public_key *key, struct buf *out);

/* The same for the network's list of frozen ledger keys: a LedgerEntryData that must hold it, and its
 * LedgerKey. Before protocol 26 there is no such entry. */
MUST_CHECK enum err frozen_entry_decode(struct bytes entry, struct frozen_accounts *out);
void frozen_ledger_key(struct buf *out);
bool frozen_has(const struct frozen_accounts *frozen, const struct public_key *key);
void frozen_accounts_free(struct frozen_accounts *frozen);

#endif
