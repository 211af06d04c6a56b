/*
 * Builds LedgerCloseMeta for tests and benchmarks: small ledgers with the hashes of real ones (header, result
 * set, link to the ledger before). Encodes by hand, so that it does not depend on the decoder that it tests.
 */
#ifndef FAIRWAY_TESTS_LEDGER_BUILDER_H
#define FAIRWAY_TESTS_LEDGER_BUILDER_H

#include "stellar/ids.h"

#define BUILT_PROTOCOL 28
#define BUILT_BASE_RESERVE 5000000 /* stroops */

/* A processed transaction. With has_inner it is a fee bump, and code is the inner transaction's. */
struct built_transaction {
    struct hash hash;
    bool has_inner;
    struct hash inner_hash;
    int32_t code; /* TransactionResultCode */
};

/* How the ledger leaves an account. */
struct built_account {
    struct public_key key;
    int64_t sequence;
    bool created;        /* LEDGER_ENTRY_CREATED instead of UPDATED */
    bool removed;        /* LEDGER_ENTRY_REMOVED: sequence is not used */
    bool foreign_signer; /* it has a second signer */
    int64_t balance_stroops;
};

struct built_ledger {
    uint32_t meta_version; /* 0, 1 or 2 */
    uint32_t protocol;     /* 0: 28 */
    uint32_t base_reserve; /* stroops; 0: 5,000,000 */
    uint32_t sequence;
    struct hash previous_hash;
    uint64_t close_time_s;
    const struct built_transaction *transactions;
    size_t transaction_count;
    /* Transaction i changes account i; the last one changes the rest. Without transactions, an upgrade
     * changes them. */
    const struct built_account *accounts;
    size_t account_count;
    /* If the list is not empty, or frozen_changed is set, an upgrade freezes exactly these accounts (CAP-77);
     * an empty list unfreezes all. */
    const struct public_key *frozen;
    size_t frozen_count;
    bool frozen_changed;
};

/* Appends the XDR LedgerCloseMeta; *hash is the hash of its header. */
void ledger_build(const struct built_ledger *ledger, struct buf *out, struct hash *hash);

/* A hash and a public key for each number. Nobody has the secret key. */
struct hash built_hash(uint64_t number);
struct public_key built_key(uint64_t number);

#endif
