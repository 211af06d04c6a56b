/* Decodes the transaction set and joins it with the results. It does not have the order of execution. */
#include "ledger_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/account.h"
#include "stellar/envelope_build.h"
#include "stellar/result.h"
#include "wire.h"

/* ---- envelopes */

/* What Transaction and TransactionV0 have after the source account. */
static enum err read_sequence(struct xdr_reader *in, struct set_transaction *out)
{
    uint32_t fee_stroops;
    enum err e = xdr_u32(in, &fee_stroops);
    return e != ERR_OK ? e : xdr_i64(in, &out->sequence);
}

static enum err read_source(struct xdr_reader *in, struct set_transaction *out)
{
    bool muxed;
    enum err e = account_muxed_read(in, &out->source, &muxed);
    return e != ERR_OK ? e : read_sequence(in, out);
}

static enum err read_v0(struct xdr_reader *in, const struct network_id *network, struct set_transaction *out)
{
    struct xdr_reader head = *in;
    struct envelope envelope = {.form = ENVELOPE_V0};
    enum err e = xdr_opaque(&head, out->source.bytes, sizeof out->source.bytes);
    if (e != ERR_OK || (e = read_sequence(&head, out)) != ERR_OK ||
        (e = xdr_take(in, XDR_TransactionV0, &envelope.body)) != ERR_OK)
        return e;
    out->hash = envelope_hash(network, &envelope);
    return ERR_OK;
}

static enum err read_v1(struct xdr_reader *in, const struct network_id *network, struct set_transaction *out)
{
    struct xdr_reader head = *in;
    struct bytes transaction;
    enum err e = read_source(&head, out);
    if (e != ERR_OK || (e = xdr_take(in, XDR_Transaction, &transaction)) != ERR_OK)
        return e;
    out->hash = transaction_hash(network, transaction);
    return ERR_OK;
}

static enum err read_fee_bump(
    struct xdr_reader *in, const struct network_id *network, struct set_transaction *out)
{
    struct xdr_reader head = *in;
    struct bytes fee_bump;
    struct public_key fee_source;
    bool muxed;
    int64_t fee_stroops;
    uint32_t inner_type; /* the schema has one kind */
    enum err e;
    if ((e = account_muxed_read(&head, &fee_source, &muxed)) != ERR_OK ||
        (e = xdr_i64(&head, &fee_stroops)) != ERR_OK || (e = xdr_u32(&head, &inner_type)) != ERR_OK ||
        (e = read_source(&head, out)) != ERR_OK ||
        (e = xdr_take(in, XDR_FeeBumpTransaction, &fee_bump)) != ERR_OK)
        return e;
    out->fee_bump = true;
    out->hash = fee_bump_hash(network, fee_bump);
    return ERR_OK;
}

/* The walker has validated the envelope. */
static enum err add(struct bytes envelope, void *context)
{
    struct ledger_set *set = context;
    struct xdr_reader in = xdr_reader(envelope);
    uint32_t type;
    enum err e = xdr_u32(&in, &type);
    if (e != ERR_OK)
        return e;
    if (set->count == set->cap) {
        set->cap = set->cap == 0 ? 64 : set->cap * 2;
        set->list = mem_grow(set->list, set->cap, sizeof *set->list);
    }
    struct set_transaction *transaction = &set->list[set->count++];
    *transaction = (struct set_transaction){0};
    switch (type) {
    case ENVELOPE_TYPE_TX_V0:
        return read_v0(&in, set->network, transaction);
    case ENVELOPE_TYPE_TX:
        return read_v1(&in, set->network, transaction);
    case ENVELOPE_TYPE_TX_FEE_BUMP:
        return read_fee_bump(&in, set->network, transaction);
    default:
        return ERR_XDR_UNKNOWN_ARM;
    }
}

/* ---- the set */

/* stellar-core, TxSetFrame.cpp: a generalized set is hashed as XDR, an older one without the count of its
 * transactions. */
static struct hash hash_of(struct bytes span, bool generalized)
{
    if (generalized)
        return sha256(span);
    const size_t previous_hash = sizeof(struct hash), count = 4;
    const struct bytes parts[] = {
        {span.data, previous_hash}, {span.data + previous_hash + count, span.len - previous_hash - count}};
    return sha256_parts(parts, ARRAY_LEN(parts));
}

enum err ledger_set_read(
    struct xdr_reader *reader, bool generalized, const struct network_id *network, struct ledger_set *set)
{
    const uint8_t *start = reader->at;
    enum xdr_type type = generalized ? XDR_GeneralizedTransactionSet : XDR_TransactionSet;
    *set = (struct ledger_set){.network = network};
    enum err e = network != NULL ? xdr_each(reader, type, XDR_TransactionEnvelope, add, set)
                                 : xdr_take(reader, type, NULL);
    if (e == ERR_OK)
        set->hash = hash_of((struct bytes){start, (size_t)(reader->at - start)}, generalized);
    return e;
}

/* ---- the proof */

static int by_hash(const void *a, const void *b)
{
    return memcmp(((const struct set_transaction *)a)->hash.bytes,
        ((const struct set_transaction *)b)->hash.bytes, sizeof(struct hash));
}

/* The value of a ledger that drops its transactions names no set (CAP-83); its hash is zero. */
static bool has_hash(const struct ledger_set *set, const struct hash *tx_set_hash)
{
    static const struct hash none;
    return hash_equal(tx_set_hash, &none) ? set->count == 0 : hash_equal(tx_set_hash, &set->hash);
}

/*
 * A fee bump whose result has no inner result failed before its inner transaction was applied. Its code says
 * nothing about the sequence number of the inner transaction.
 */
static bool consumes(const struct set_transaction *sent, const struct ledger_transaction *transaction)
{
    return sent->fee_bump == transaction->fee_bump &&
           result_consumes_sequence(transaction->fee_bump ? transaction->inner_code : transaction->code);
}

static bool join(struct ledger_set *set, struct ledger_transaction *transaction)
{
    const struct set_transaction key = {.hash = transaction->hash};
    struct set_transaction *sent = bsearch(&key, set->list, set->count, sizeof set->list[0], by_hash);
    if (sent == NULL || sent->has_result || (transaction->fee_bump && !sent->fee_bump))
        return false;
    sent->has_result = true;
    transaction->source = sent->source;
    transaction->sequence = sent->sequence;
    transaction->consumed = consumes(sent, transaction);
    return true;
}

/* Counts are equal and no element is joined twice, so each element of the set has a result. */
bool ledger_set_prove(struct ledger_set *set, const struct hash *tx_set_hash, struct ledger *ledger)
{
    if (!has_hash(set, tx_set_hash) || set->count != ledger->transaction_count)
        return false;
    if (set->count != 0)
        qsort(set->list, set->count, sizeof set->list[0], by_hash);
    for (size_t i = 0; i < ledger->transaction_count; i++)
        if (!join(set, &ledger->transactions[i]))
            return false;
    return true;
}

void ledger_set_free(struct ledger_set *set)
{
    free(set->list);
    *set = (struct ledger_set){0};
}
