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

/* The walker has validated the envelope. */
static enum err add(struct bytes xdr, void *context)
{
    struct ledger_set *set = context;
    struct envelope envelope;
    enum err e = envelope_read(xdr, &envelope);
    if (e != ERR_OK)
        return e;
    if (set->count == set->cap) {
        set->cap = set->cap == 0 ? 64 : set->cap * 2;
        set->list = mem_grow(set->list, set->cap, sizeof *set->list);
    }
    const bool fee_bump = envelope.form == ENVELOPE_FEE_BUMP;
    set->list[set->count++] =
        (struct set_transaction){.hash = fee_bump ? fee_bump_hash(set->network, envelope.fee_bump)
                                                  : envelope_hash(set->network, &envelope),
            .fee_bump = fee_bump,
            .fee_source = fee_bump ? envelope.fee_source : envelope.source,
            .source = envelope.source,
            .sequence = envelope.sequence,
            .operations = envelope.operations,
            .operation_count = envelope.operation_count};
    set->operation_count += envelope.operation_count;
    return ERR_OK;
}

/* The price of a lane that is short of room, in its components' optional baseFee. */
static void note_price(struct ledger_set *set, const uint8_t *base_fee)
{
    const int64_t price = be32_get(base_fee) != 0 ? (int64_t)be64_get(base_fee + 4) : 0;
    if (set->highest_stroops < price)
        set->highest_stroops = price;
    if (set->least_stroops > price)
        set->least_stroops = price;
}

static enum err add_component(struct bytes xdr, void *context)
{
    note_price(context, xdr.data + 4); /* after its type */
    return ERR_OK;
}

/* Comes after its components. The first phase is the classic one: its offers and path payments pay at least
 * what the others do, so the least price is that of the others. A phase of version 1 has one component. */
static enum err add_phase(struct bytes xdr, void *context)
{
    struct ledger_set *set = context;
    if (be32_get(xdr.data) == 1)
        note_price(set, xdr.data + 4);
    if (set->phase++ == 0) {
        set->prices_stroops[LANE_CLASSIC] = set->least_stroops == INT64_MAX ? 0 : set->least_stroops;
        set->prices_stroops[LANE_DEX] = set->highest_stroops;
    } else
        set->prices_stroops[LANE_SOROBAN] = set->highest_stroops;
    set->least_stroops = INT64_MAX;
    set->highest_stroops = 0;
    return ERR_OK;
}

/* stellar-core, isDexOperation: a path payment whose assets are the same and that has no path is in the lane
 * of the others. It bids too much here, and pays what they do. */
static enum err find_dex(const struct operation *operation, void *context)
{
    bool *dex = context;
    *dex |= operation->kind == PATH_PAYMENT_STRICT_RECEIVE || operation->kind == MANAGE_SELL_OFFER ||
            operation->kind == CREATE_PASSIVE_SELL_OFFER || operation->kind == MANAGE_BUY_OFFER ||
            operation->kind == PATH_PAYMENT_STRICT_SEND;
    return ERR_OK;
}

enum lane lane_of(const struct envelope *envelope)
{
    bool dex = false;
    (void)!operation_each(envelope->operations, find_dex, &dex);
    return envelope->soroban ? LANE_SOROBAN : dex ? LANE_DEX : LANE_CLASSIC;
}

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

void ledger_set_read(
    struct xdr_reader *reader, bool generalized, const struct network_id *network, struct ledger_set *set)
{
    const uint8_t *start = reader->at;
    enum xdr_type type = generalized ? XDR_GeneralizedTransactionSet : XDR_TransactionSet;
    *set = (struct ledger_set){.network = network, .least_stroops = INT64_MAX};
    const struct xdr_search searches[] = {{XDR_TransactionEnvelope, add, set},
        {XDR_TxSetComponent, add_component, set}, {XDR_TransactionPhase, add_phase, set}};
    if (xdr_search(reader, type, searches, network != NULL ? ARRAY_LEN(searches) : 0) != ERR_OK)
        return;
    set->hash = hash_of((struct bytes){start, (size_t)(reader->at - start)}, generalized);
    const size_t version = generalized ? 4 : 0;
    memcpy(set->previous_hash.bytes, start + version, sizeof set->previous_hash.bytes);
}

/* ---- the proof */

/* The value of a ledger that drops its transactions names no set (CAP-83); its hash is zero. */
static bool has_hash(const struct ledger_set *set, const struct hash *tx_set_hash)
{
    static const struct hash none;
    return hash_equal(tx_set_hash, &none) ? set->count == 0 : hash_equal(tx_set_hash, &set->hash);
}

/* ---- what the operations did */

/* A transaction that succeeded. */
struct success {
    struct ledger *ledger;
    uint32_t index;
    const struct public_key *source;
};

/* Leaves out a repetition: one of offers has a hundred operations of one source. */
static void add_deed(const struct success *success, enum ledger_deed deed, const struct public_key *account)
{
    struct ledger *ledger = success->ledger;
    const struct ledger_operation *last =
        ledger->operation_count > 0 ? &ledger->operations[ledger->operation_count - 1] : NULL;
    if (last != NULL && last->transaction == success->index && last->deed == deed &&
        public_key_equal(&last->account, account))
        return;
    ledger->operations[ledger->operation_count++] =
        (struct ledger_operation){.deed = deed, .transaction = success->index, .account = *account};
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
           soroban_check_without_source(operation, NULL) == ERR_OK;
}

/* Without a source of its own, an operation has the transaction's. */
static enum err add_deeds(const struct operation *operation, void *context)
{
    const struct success *success = context;
    struct xdr_reader in = xdr_reader(operation->span);
    struct operation head;
    if (uses_no_authority(operation))
        return ERR_OK;
    add_deed(success, deed_of(operation->kind), operation->has_source ? &operation->source : success->source);
    if (operation->kind != CREATE_ACCOUNT)
        return ERR_OK;
    operation_head_read(&in, &head);
    const struct public_key created = account_id_read(&in);
    if (in.e == ERR_OK)
        add_deed(success, DEED_CREATED, &created);
    return in.e;
}

/* ---- the join */

static bool join(struct ledger_set *set, struct ledger *ledger, size_t index)
{
    struct ledger_transaction *transaction = &ledger->transactions[index];
    struct set_transaction *sent =
        bsearch(&transaction->hash, set->list, set->count, sizeof set->list[0], hash_compare);
    if (sent == NULL || sent->has_result || (transaction->fee_bump && !sent->fee_bump))
        return false;
    sent->has_result = true;
    ledger->operation_total += sent->operation_count + sent->fee_bump;
    transaction->fee_source = sent->fee_source;
    transaction->source = sent->source;
    transaction->sequence = sent->sequence;
    /* A fee bump whose result has no inner result failed before its inner transaction was applied. Its code
     * says nothing about the sequence number of the inner transaction. */
    if (sent->fee_bump && !transaction->fee_bump)
        return true;
    const int32_t code = transaction->fee_bump ? transaction->inner_code : transaction->code;
    transaction->consumed = result_consumes_sequence(code);
    struct success success = {ledger, (uint32_t)index, &sent->source};
    return !result_is_success(code) || operation_each(sent->operations, add_deeds, &success) == ERR_OK;
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
    *set = (struct ledger_set){0};
}
