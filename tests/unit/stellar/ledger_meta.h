/* Builds small LedgerCloseMeta values with valid hashes, without changes of entries. A key is one byte,
 * repeated. */
#pragma once

#include "base/mem.h"
#include "stellar/ledger.h"

struct test_transaction {
    uint8_t hash;
    const struct hash *real_hash; /* NULL: the byte above, repeated */
    int32_t code;
    uint8_t inner_hash; /* of codes 1 and -13 */
    int32_t inner_code;
};

struct test_meta {
    uint32_t version;
    uint32_t sequence;
    uint64_t close_time_s;
    size_t transaction_count;
    const struct test_transaction *transactions;
    struct bytes set; /* the transaction set; empty: one without transactions, and with another hash */
    struct hash set_hash;
};

static inline void add_key(struct buf *out, uint8_t key)
{
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = key;
    buf_add(out, bytes, sizeof bytes);
}

static inline void add_words(struct buf *out, size_t count, uint32_t value)
{
    for (; count > 0; count--)
        buf_add_u32(out, value);
}

/* balance 7, thresholds of a plain account, no signers, ext 0 */
static inline void add_account_entry(struct buf *out, uint8_t key, int64_t sequence)
{
    buf_add_u32(out, 0);
    add_key(out, key);
    buf_add_u64(out, 7);
    buf_add_u64(out, (uint64_t)sequence);
    add_words(out, 4, 0);         /* sub-entries, no inflation destination, flags, home domain */
    buf_add_u32(out, 0x01000000); /* thresholds */
    add_words(out, 2, 0);
}

static inline void add_result_pair(struct buf *out, const struct test_transaction *transaction)
{
    bool bump = transaction->code == 1 || transaction->code == -13;
    bool operations = transaction->code == 0 || transaction->code == -1;
    if (transaction->real_hash != NULL)
        buf_add(out, transaction->real_hash->bytes, sizeof transaction->real_hash->bytes);
    else
        add_key(out, transaction->hash);
    buf_add_u64(out, 100);
    buf_add_u32(out, (uint32_t)transaction->code);
    if (bump) {
        add_key(out, transaction->inner_hash);
        buf_add_u64(out, 0);
        buf_add_u32(out, (uint32_t)transaction->inner_code);
        operations = transaction->inner_code == 0 || transaction->inner_code == -1;
    }
    add_words(out, (operations ? 1u : 0u) + (bump ? 2u : 1u), 0); /* no operation results, extensions */
}

static inline void add_header(struct buf *out, const struct test_meta *meta)
{
    CLEANUP(buf_free) struct buf results = {0}, header = {0};
    buf_add_u32(&results, (uint32_t)meta->transaction_count);
    for (size_t i = 0; i < meta->transaction_count; i++)
        add_result_pair(&results, &meta->transactions[i]);
    struct hash results_hash = sha256(buf_bytes(&results));
    buf_add_u32(&header, 27);
    add_key(&header, 0xee); /* previous ledger */
    if (meta->set.len != 0)
        buf_add(&header, meta->set_hash.bytes, sizeof meta->set_hash.bytes);
    else
        add_key(&header, 0xdd);
    buf_add_u64(&header, meta->close_time_s);
    buf_add_u32(&header, 1); /* an upgrade of five bytes */
    buf_add_u32(&header, 5);
    buf_add_u32(&header, 0x01020304);
    buf_add_u32(&header, 0x05000000);
    buf_add_u32(&header, 0); /* StellarValue.ext */
    buf_add(&header, results_hash.bytes, sizeof results_hash.bytes);
    add_key(&header, 0xcc); /* bucket list */
    buf_add_u32(&header, meta->sequence);
    add_words(&header, 2 + 2 + 1 + 2, 0xffffffff); /* coins, fee pool, inflation, ids */
    buf_add_u32(&header, 100);                     /* base fee */
    buf_add_u32(&header, 5000001);                 /* base reserve */
    add_words(&header, 1 + 32 + 1, 0);             /* size of transaction sets, skip list, ext */
    struct hash hash = sha256(buf_bytes(&header));
    buf_add(out, hash.bytes, sizeof hash.bytes);
    buf_add_bytes(out, buf_bytes(&header));
    buf_add_u32(out, 0); /* LedgerHeaderHistoryEntry.ext */
}

static inline void add_transactions(struct buf *out, const struct test_meta *meta)
{
    buf_add_u32(out, (uint32_t)meta->transaction_count);
    for (size_t i = 0; i < meta->transaction_count; i++) {
        const struct test_transaction *transaction = &meta->transactions[i];
        if (meta->version >= 2)
            buf_add_u32(out, 0); /* ext */
        add_result_pair(out, transaction);
        buf_add_u32(out, 0); /* feeProcessing */
        buf_add_u32(out, 2); /* TransactionMetaV2: before, operations, after */
        add_words(out, 3, 0);
        if (meta->version >= 2)
            buf_add_u32(out, 0); /* postTxApplyFeeProcessing */
    }
}

static inline struct buf meta_build(const struct test_meta *meta)
{
    struct buf out = {0};
    buf_add_u32(&out, meta->version);
    if (meta->version >= 1)
        buf_add_u32(&out, 0); /* ext */
    add_header(&out, meta);
    if (meta->set.len != 0) {
        buf_add_bytes(&out, meta->set);
    } else {
        if (meta->version >= 1)
            buf_add_u32(&out, 1); /* GeneralizedTransactionSet V1 */
        add_key(&out, 0xee);
        buf_add_u32(&out, 0); /* transactions, or phases */
    }
    add_transactions(&out, meta);
    add_words(&out, 2, 1); /* an upgrade to version 27 */
    buf_add_u32(&out, 27);
    add_words(&out, 2, 0); /* its changes, scpInfo */
    if (meta->version >= 1)
        add_words(&out, 3, 0); /* size of Soroban state, evicted keys */
    if (meta->version == 1)
        buf_add_u32(&out, 0); /* unused */
    return out;
}
