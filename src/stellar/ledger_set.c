/* Decodes the transaction set and joins it with the results. It does not have the order of execution, and no
 * ledger entries. What an operation means for an account of the pool, pool/settle.c decides. */
#include "ledger_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/account.h"
#include "stellar/envelope_build.h"
#include "stellar/result.h"
#include "operation.h"
#include "soroban.h"
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
    bool muxed;
    int64_t fee_stroops;
    uint32_t inner_type; /* the schema has one kind */
    enum err e;
    if ((e = account_muxed_read(&head, &out->fee_source, &muxed)) != ERR_OK ||
        (e = xdr_i64(&head, &fee_stroops)) != ERR_OK || (e = xdr_u32(&head, &inner_type)) != ERR_OK ||
        (e = read_source(&head, out)) != ERR_OK ||
        (e = xdr_take(in, XDR_FeeBumpTransaction, &fee_bump)) != ERR_OK)
        return e;
    out->fee_bump = true;
    out->hash = fee_bump_hash(network, fee_bump);
    return ERR_OK;
}

/* The walker finds the operations of an envelope before the envelope itself. */
static enum err add_operation(struct bytes operation, void *context)
{
    struct ledger_set *set = context;
    if (set->operation_count == set->operation_cap) {
        set->operation_cap = set->operation_cap == 0 ? 256 : set->operation_cap * 2;
        set->operations = mem_grow(set->operations, set->operation_cap, sizeof *set->operations);
    }
    set->operations[set->operation_count++] = operation;
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
    const struct set_transaction *last = set->count > 0 ? &set->list[set->count - 1] : NULL;
    const size_t first = last != NULL ? last->first_operation + last->operation_count : 0;
    struct set_transaction *transaction = &set->list[set->count++];
    *transaction =
        (struct set_transaction){.first_operation = first, .operation_count = set->operation_count - first};
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
    const struct xdr_search searches[] = {
        {XDR_Operation, add_operation, set}, {XDR_TransactionEnvelope, add, set}};
    enum err e = network != NULL ? xdr_search(reader, type, searches, ARRAY_LEN(searches))
                                 : xdr_take(reader, type, NULL);
    if (e != ERR_OK)
        return e;
    set->hash = hash_of((struct bytes){start, (size_t)(reader->at - start)}, generalized);
    const size_t version = generalized ? 4 : 0;
    memcpy(set->previous_hash.bytes, start + version, sizeof set->previous_hash.bytes);
    return ERR_OK;
}

/* ---- the proof */

/* The value of a ledger that drops its transactions names no set (CAP-83); its hash is zero. */
static bool has_hash(const struct ledger_set *set, const struct hash *tx_set_hash)
{
    static const struct hash none;
    return hash_equal(tx_set_hash, &none) ? set->count == 0 : hash_equal(tx_set_hash, &set->hash);
}

/* ---- what the operations did */

/* Leaves out a repetition: one of offers has a hundred operations of one source. */
static void add_deed(
    struct ledger *ledger, size_t transaction, enum ledger_deed deed, const struct public_key *account)
{
    const struct ledger_operation *last =
        ledger->operation_count > 0 ? &ledger->operations[ledger->operation_count - 1] : NULL;
    if (last != NULL && last->transaction == transaction && last->deed == deed &&
        public_key_equal(&last->account, account))
        return;
    ledger->operations[ledger->operation_count++] =
        (struct ledger_operation){.deed = deed, .transaction = (uint32_t)transaction, .account = *account};
}

static enum ledger_deed deed_of(uint32_t kind)
{
    switch (kind) {
    case ACCOUNT_MERGE:
        return DEED_MERGED;
    case END_SPONSORING_FUTURE_RESERVES:
        return DEED_ENDED_SPONSORING;
    default:
        return DEED_OTHER;
    }
}

/* A call that policy lets act without a source, because it cannot use the authority of the transaction's. */
static bool uses_no_authority(const struct operation *operation)
{
    return !operation->has_source && operation->kind == INVOKE_HOST_FUNCTION &&
           soroban_check_credentials(operation, NULL) == ERR_OK;
}

/* The walker has validated the operation. Without a source of its own, it has the transaction's. */
static enum err add_deeds(
    struct ledger *ledger, size_t transaction, const struct public_key *source, struct bytes span)
{
    struct xdr_reader in = xdr_reader(span);
    struct operation operation = {.span = span};
    struct public_key created;
    enum err e = operation_head_read(&in, &operation);
    if (e != ERR_OK || uses_no_authority(&operation))
        return e;
    add_deed(ledger, transaction, deed_of(operation.kind), operation.has_source ? &operation.source : source);
    if (operation.kind != CREATE_ACCOUNT)
        return ERR_OK;
    e = account_id_read(&in, &created);
    if (e == ERR_OK)
        add_deed(ledger, transaction, DEED_CREATED, &created);
    return e;
}

/* ---- the join */

/*
 * A fee bump whose result has no inner result failed before its inner transaction was applied. Its code says
 * nothing about the sequence number of the inner transaction.
 */
static bool decides(
    const struct set_transaction *sent, const struct ledger_transaction *transaction, bool (*says)(int32_t))
{
    return sent->fee_bump == transaction->fee_bump &&
           says(transaction->fee_bump ? transaction->inner_code : transaction->code);
}

static bool join(struct ledger_set *set, struct ledger *ledger, size_t index)
{
    struct ledger_transaction *transaction = &ledger->transactions[index];
    struct set_transaction *sent =
        bsearch(&transaction->hash, set->list, set->count, sizeof set->list[0], hash_compare);
    if (sent == NULL || sent->has_result || (transaction->fee_bump && !sent->fee_bump))
        return false;
    sent->has_result = true;
    ledger->operation_total += (uint32_t)sent->operation_count + sent->fee_bump;
    transaction->fee_source = sent->fee_bump ? sent->fee_source : sent->source;
    transaction->source = sent->source;
    transaction->sequence = sent->sequence;
    transaction->consumed = decides(sent, transaction, result_consumes_sequence);
    if (!decides(sent, transaction, result_is_success))
        return true;
    for (size_t i = 0; i < sent->operation_count; i++)
        if (add_deeds(ledger, index, &sent->source, set->operations[sent->first_operation + i]) != ERR_OK)
            return false;
    return true;
}

/* Counts are equal and no element is joined twice, so each element of the set has a result. */
bool ledger_set_prove(struct ledger_set *set, const struct hash *tx_set_hash, struct ledger *ledger)
{
    if (!has_hash(set, tx_set_hash) || set->count != ledger->transaction_count)
        return false;
    ledger->operations =
        NEW_ARRAY(2 * set->operation_count, struct ledger_operation); /* createAccount: two */
    if (set->count != 0)
        qsort(set->list, set->count, sizeof set->list[0], hash_compare);
    for (size_t i = 0; i < ledger->transaction_count; i++)
        if (!join(set, ledger, i))
            return false;
    return true;
}

void ledger_set_free(struct ledger_set *set)
{
    free(set->list);
    free(set->operations);
    *set = (struct ledger_set){0};
}
