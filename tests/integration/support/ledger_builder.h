/*
 * Builds LedgerCloseMeta for tests and benchmarks: small ledgers with the hashes of real ones (header,
 * transaction set, result set, link to the ledger before). Encodes by hand, so that it does not depend on the
 * decoder that it tests.
 */
#pragma once

#include "stellar/ids.h"

#define BUILT_PASSPHRASE "fairway tests" /* of the network, unless a ledger names another */
#define BUILT_PROTOCOL 28
#define BUILT_BASE_RESERVE 5000000 /* stroops */

/*
 * A processed transaction. With has_inner it is a fee bump, and code is the inner transaction's. If hash (of
 * a fee bump, inner_hash) is that of a known envelope, the set has that envelope, and the hash of a fee bump
 * is computed. Else the set has a made one, with another hash: its source is the account that the transaction
 * changes, and it consumes the sequence number that the account has afterwards; or it is another account's,
 * and has an operation that creates, removes or changes that account.
 */
struct built_transaction {
    struct hash hash;
    bool has_inner;
    struct hash inner_hash;
    int32_t code;          /* TransactionResultCode */
    struct bytes envelope; /* not empty: the known envelope of hash or inner_hash */
};

/* How the ledger leaves an account. */
struct built_account {
    struct public_key key;
    int64_t sequence;
    bool created;
    bool removed;        /* sequence is not used */
    bool foreign_signer; /* it has a second signer */
    int64_t balance_stroops;
};

struct built_ledger {
    uint32_t meta_version; /* 0, 1 or 2 */
    uint32_t protocol;     /* 0: 28 */
    uint32_t sequence;
    const struct network_id *network; /* NULL: of BUILT_PASSPHRASE */
    struct hash previous_hash;
    uint64_t close_time_s;
    uint32_t close_ms;   /* not 0: the value has milliseconds (CAP-88), these after close_time_s */
    bool value_unsigned; /* else built_validator has signed it */
    bool badly_signed;   /* its signature is one over something else */
    bool
        set_dropped; /* the value names no set (CAP-83): what is signed is the hash of one that nobody sees */
    bool set_replaced;               /* the value names another set than the ledger has */
    const struct hash *set_previous; /* not NULL: the ledger for which the set was made */
    const struct built_transaction *transactions;
    size_t transaction_count;
    /* Transaction i changes account i. For each change that no transaction makes, one is added. */
    const struct built_account *accounts;
    size_t account_count;
    /* The TransactionMeta of the transactions, again and again; 0: an empty one. */
    const struct bytes *metas;
    size_t meta_count;
    /* If the list is not empty, or frozen_changed is set, an upgrade freezes exactly these accounts (CAP-77);
     * an empty list unfreezes all. */
    const struct public_key *frozen;
    size_t frozen_count;
    bool frozen_changed;
    bool invented; /* another set than the header names */
};

/* Appends the XDR LedgerCloseMeta; *hash is the hash of its header. */
void ledger_build(const struct built_ledger *ledger, struct buf *out, struct hash *hash);

/* A public key for each number. Nobody has the secret key. */
struct public_key built_key(uint64_t number);
/* The node whose signature the values of ledgers have. */
struct public_key built_validator(void);
/* The hash of a known transaction of built_key(number), which consumes this sequence number. */
#define BUILT_SEQUENCE 51
struct hash built_hash(uint64_t number);
/* The hash of no known transaction. */
struct hash built_foreign(uint64_t number);
