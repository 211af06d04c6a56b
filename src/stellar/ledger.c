/* Decodes a closed ledger. Whether it is the next one, and what it ends, is never decided here. */
#include "stellar/ledger.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ledger_set.h"
#include "stellar/result.h"

/* The least bytes that one element of txProcessing takes: hash, fee, result code and extension. */
#define RESULT_META_SIZE_MIN 48

struct decoding {
    struct xdr_reader in;
    struct ledger *ledger;
    const struct network_id *network;
    struct ledger_set set;
    struct hash result_set_hash; /* the header's txSetResultHash */
    int64_t base_fee_stroops;    /* the header's */
    const char *part;            /* the part being read and its item, for the detail of an error */
    uint32_t item;
};

static enum err take(struct decoding *d, const char *part, enum xdr_type type)
{
    d->part = part;
    d->item = 0;
    return xdr_take(&d->in, type, NULL);
}

static enum err take_array(struct decoding *d, const char *part, enum xdr_type element)
{
    uint32_t count;
    d->part = part;
    enum err e = xdr_count(&d->in, UINT32_MAX, &count);
    for (d->item = 0; e == ERR_OK && d->item < count; d->item++)
        e = xdr_take(&d->in, element, NULL);
    return e;
}

/* ---- the header */

static enum err read_hash(struct xdr_reader *reader, struct hash *out)
{
    return xdr_opaque(reader, out->bytes, sizeof out->bytes);
}

static enum err read_fields(struct decoding *d, struct bytes header)
{
    struct ledger *ledger = d->ledger;
    struct xdr_reader reader = xdr_reader(header);
    struct bytes value;
    uint8_t totals[32]; /* totalCoins to baseFee */
    enum err e;
    if ((e = xdr_u32(&reader, &ledger->protocol)) != ERR_OK ||
        (e = read_hash(&reader, &ledger->previous_hash)) != ERR_OK ||
        (e = xdr_take(&reader, XDR_StellarValue, &value)) != ERR_OK ||
        (e = stellar_value_decode(value, &ledger->value)) != ERR_OK ||
        (e = read_hash(&reader, &d->result_set_hash)) != ERR_OK ||
        (e = xdr_take(&reader, XDR_Hash, NULL)) != ERR_OK || /* bucketListHash */
        (e = xdr_u32(&reader, &ledger->sequence)) != ERR_OK ||
        (e = xdr_opaque(&reader, totals, sizeof totals)) != ERR_OK)
        return e;
    ledger->close_time_s = ledger->value.close_time_s;
    d->base_fee_stroops = be32_get(totals + sizeof totals - 4);
    e = xdr_u32(&reader, &ledger->base_reserve_stroops);
    return e != ERR_OK ? e : xdr_u32(&reader, &ledger->max_operations);
}

/* Reads a LedgerHeaderHistoryEntry. */
static enum err read_header(struct decoding *d)
{
    struct ledger *ledger = d->ledger;
    struct bytes entry, header;
    enum err e;
    d->part = "ledgerHeader";
    if ((e = xdr_take(&d->in, XDR_LedgerHeaderHistoryEntry, &entry)) != ERR_OK)
        return e;
    struct xdr_reader inside = xdr_reader(entry);
    if ((e = read_hash(&inside, &ledger->hash)) != ERR_OK ||
        (e = xdr_take(&inside, XDR_LedgerHeader, &header)) != ERR_OK)
        return e;
    struct hash computed = sha256(header);
    ledger->hash_proved = hash_equal(&computed, &ledger->hash);
    return read_fields(d, header);
}

static enum err read_set(struct decoding *d)
{
    d->part = "txSet";
    d->item = 0;
    enum err e = ledger_set_read(&d->in, d->ledger->meta_version >= 1, d->network, &d->set);
    d->ledger->set_previous_hash = d->set.previous_hash;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        d->ledger->prices_stroops[lane] =
            d->set.prices_stroops[lane] > d->base_fee_stroops ? d->set.prices_stroops[lane] : 0;
    return e;
}

/* Reads a TransactionResultMeta; from LedgerCloseMeta V2 on, a TransactionResultMetaV1. */
static enum err read_transaction(
    struct decoding *d, struct ledger_transaction *transaction, struct bytes *result)
{
    bool v1 = d->ledger->meta_version >= 2;
    enum err e;
    if ((v1 && (e = xdr_take(&d->in, XDR_ExtensionPoint, NULL)) != ERR_OK) ||
        (e = result_pair_read(&d->in, transaction, result)) != ERR_OK ||
        (e = xdr_take(&d->in, XDR_LedgerEntryChanges, NULL)) != ERR_OK || /* fees */
        (e = xdr_take(&d->in, XDR_TransactionMeta, &transaction->meta)) != ERR_OK)
        return e;
    return v1 ? xdr_take(&d->in, XDR_LedgerEntryChanges, NULL) : ERR_OK; /* refunds */
}

/* Reads txProcessing. txSetResultHash is the hash of its results as a TransactionResultSet: the count, then
 * the pairs. */
static enum err read_transactions(struct decoding *d)
{
    struct ledger *ledger = d->ledger;
    const uint8_t *count_at = d->in.at;
    uint32_t count;
    enum err e;
    d->part = "txProcessing";
    d->item = 0;
    if ((e = xdr_count(&d->in, UINT32_MAX, &count)) != ERR_OK)
        return e;
    if (count > (size_t)(d->in.end - d->in.at) / RESULT_META_SIZE_MIN)
        return ERR_XDR_TRUNCATED;
    crypto_hash_sha256_state hashing;
    crypto_hash_sha256_init(&hashing);
    crypto_hash_sha256_update(&hashing, count_at, 4);
    ledger->transactions = NEW_ARRAY(count, struct ledger_transaction);
    for (; d->item < count; d->item++) {
        struct bytes result;
        if ((e = read_transaction(d, &ledger->transactions[d->item], &result)) != ERR_OK)
            return e;
        crypto_hash_sha256_update(&hashing, result.data, result.len);
        ledger->transaction_count++;
    }
    struct hash computed;
    crypto_hash_sha256_final(&hashing, computed.bytes);
    ledger->results_proved = hash_equal(&computed, &d->result_set_hash);
    return ERR_OK;
}

static enum err read_meta(struct decoding *d)
{
    uint32_t version;
    enum err e;
    d->part = "version";
    if ((e = xdr_u32(&d->in, &version)) != ERR_OK)
        return e;
    if (version > 2) {
        d->in.at -= 4;
        d->in.unknown = XDR_LedgerCloseMeta;
        return ERR_XDR_UNKNOWN_ARM;
    }
    d->ledger->meta_version = version;
    if ((version >= 1 && (e = take(d, "ext", XDR_LedgerCloseMetaExt)) != ERR_OK) ||
        (e = read_header(d)) != ERR_OK || (e = read_set(d)) != ERR_OK ||
        (e = read_transactions(d)) != ERR_OK ||
        (e = take_array(d, "upgradesProcessing", XDR_UpgradeEntryMeta)) != ERR_OK ||
        (e = take_array(d, "scpInfo", XDR_ScpHistoryEntry)) != ERR_OK)
        return e;
    if (version >= 1 && ((e = take(d, "totalByteSizeOfLiveSorobanState", XDR_Uint64)) != ERR_OK ||
                            (e = take_array(d, "evictedKeys", XDR_LedgerKey)) != ERR_OK ||
                            (version == 1 && (e = take_array(d, "unused", XDR_LedgerEntry)) != ERR_OK)))
        return e;
    d->part = "end";
    d->item = 0;
    return xdr_end(&d->in);
}

enum err ledger_decode(
    struct bytes meta, const struct network_id *network, struct ledger *ledger, struct detail *detail)
{
    struct decoding d = {.in = xdr_reader(meta), .network = network, .ledger = ledger};
    *ledger = (struct ledger){0};
    enum err e = read_meta(&d);
    if (e == ERR_OK)
        ledger->set_proved = ledger_set_prove(&d.set, &ledger->value.tx_set_hash, ledger);
    ledger_set_free(&d.set);
    if (e == ERR_OK)
        return ERR_OK;
    ledger_free(ledger);
    if (d.in.unknown != 0)
        return detail_set(detail, e, "%s %d at byte %zu of %zu (%s, item %u)", xdr_type_name(d.in.unknown),
            (int)be32_get(d.in.at), (size_t)(d.in.at - meta.data), meta.len, d.part, d.item);
    return detail_set(detail, e, "LedgerCloseMeta at byte %zu of %zu (%s, item %u): %s",
        (size_t)(d.in.at - meta.data), meta.len, d.part, d.item, err_text(e));
}

void ledger_free(struct ledger *ledger)
{
    free(ledger->transactions);
    free(ledger->operations);
    *ledger = (struct ledger){0};
}

const struct hash *ledger_inner_hash(const struct ledger_transaction *transaction)
{
    return transaction->fee_bump ? &transaction->inner_hash : &transaction->hash;
}

int64_t ledger_first_sequence(uint32_t ledger)
{
    return (int64_t)ledger << 32;
}
