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
};

/* ---- the header */

static void read_hash(struct xdr_reader *reader, struct hash *out)
{
    xdr_opaque(reader, out->bytes, sizeof out->bytes);
}

static enum err read_fields(struct decoding *d, struct bytes header)
{
    struct ledger *ledger = d->ledger;
    struct xdr_reader reader = xdr_reader(header);
    uint8_t totals[32]; /* totalCoins to baseFee */
    ledger->protocol = xdr_u32(&reader);
    read_hash(&reader, &ledger->previous_hash);
    xdr_fail(&reader, stellar_value_decode(xdr_take(&reader, XDR_StellarValue), &ledger->value));
    ledger->close_time_s = ledger->value.close_time_s;
    read_hash(&reader, &d->result_set_hash);
    xdr_take(&reader, XDR_Hash); /* bucketListHash */
    ledger->sequence = xdr_u32(&reader);
    xdr_opaque(&reader, totals, sizeof totals);
    d->base_fee_stroops = be32_get(totals + sizeof totals - 4);
    ledger->base_reserve_stroops = xdr_u32(&reader);
    ledger->max_operations = xdr_u32(&reader);
    return reader.e;
}

/* Reads a LedgerHeaderHistoryEntry. */
static void read_header(struct decoding *d)
{
    struct ledger *ledger = d->ledger;
    struct xdr_reader inside = xdr_reader(xdr_take(&d->in, XDR_LedgerHeaderHistoryEntry));
    read_hash(&inside, &ledger->hash);
    const struct bytes header = xdr_take(&inside, XDR_LedgerHeader);
    struct hash computed = sha256(header);
    ledger->hash_proved = hash_equal(&computed, &ledger->hash);
    xdr_fail(&d->in, read_fields(d, header));
}

static void read_set(struct decoding *d)
{
    ledger_set_read(&d->in, d->ledger->meta_version >= 1, d->network, &d->set);
    d->ledger->set_previous_hash = d->set.previous_hash;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        d->ledger->prices_stroops[lane] =
            d->set.prices_stroops[lane] > d->base_fee_stroops ? d->set.prices_stroops[lane] : 0;
}

/* Reads a TransactionResultMeta; from LedgerCloseMeta V2 on, a TransactionResultMetaV1. Returns the result
 * pair. */
static struct bytes read_transaction(struct decoding *d, struct ledger_transaction *transaction)
{
    const bool v1 = d->ledger->meta_version >= 2;
    if (v1)
        xdr_take(&d->in, XDR_ExtensionPoint);
    const struct bytes result = result_pair_read(&d->in, transaction);
    xdr_take(&d->in, XDR_LedgerEntryChanges); /* fees */
    transaction->meta = xdr_take(&d->in, XDR_TransactionMeta);
    if (v1)
        xdr_take(&d->in, XDR_LedgerEntryChanges); /* refunds */
    return result;
}

/* Reads txProcessing. txSetResultHash is the hash of its results as a TransactionResultSet: the count, then
 * the pairs. */
static void read_transactions(struct decoding *d)
{
    struct ledger *ledger = d->ledger;
    const uint8_t *count_at = d->in.at;
    const uint32_t count = xdr_u32(&d->in);
    if (count > (size_t)(d->in.end - d->in.at) / RESULT_META_SIZE_MIN)
        xdr_fail(&d->in, ERR_XDR_TRUNCATED);
    if (d->in.e != ERR_OK)
        return;
    crypto_hash_sha256_state hashing;
    crypto_hash_sha256_init(&hashing);
    crypto_hash_sha256_update(&hashing, count_at, 4);
    ledger->transactions = NEW_ARRAY(count, struct ledger_transaction);
    for (uint32_t i = 0; i < count; i++) {
        const struct bytes result = read_transaction(d, &ledger->transactions[i]);
        if (d->in.e != ERR_OK)
            return;
        crypto_hash_sha256_update(&hashing, result.data, result.len);
        ledger->transaction_count++;
    }
    struct hash computed;
    crypto_hash_sha256_final(&hashing, computed.bytes);
    ledger->results_proved = hash_equal(&computed, &d->result_set_hash);
}

static enum err read_meta(struct decoding *d)
{
    uint32_t count;
    const uint32_t version = xdr_u32(&d->in);
    if (version > 2) {
        d->in.at -= 4;
        d->in.unknown = XDR_LedgerCloseMeta;
        return ERR_XDR_UNKNOWN_ARM;
    }
    d->ledger->meta_version = version;
    if (version >= 1)
        xdr_take(&d->in, XDR_LedgerCloseMetaExt);
    read_header(d);
    read_set(d);
    read_transactions(d);
    xdr_take_array(&d->in, XDR_UpgradeEntryMeta, UINT32_MAX, &count); /* upgradesProcessing */
    xdr_take_array(&d->in, XDR_ScpHistoryEntry, UINT32_MAX, &count);  /* scpInfo */
    if (version >= 1) {
        xdr_u64(&d->in);                                           /* totalByteSizeOfLiveSorobanState */
        xdr_take_array(&d->in, XDR_LedgerKey, UINT32_MAX, &count); /* evictedKeys */
    }
    if (version == 1)
        xdr_take_array(&d->in, XDR_LedgerEntry, UINT32_MAX, &count); /* unused */
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
        return detail_set(detail, e, "%s %d at byte %zu of %zu", xdr_type_name(d.in.unknown),
            (int)be32_get(d.in.at), (size_t)(d.in.at - meta.data), meta.len);
    return detail_set(detail, e, "LedgerCloseMeta at byte %zu of %zu: %s", (size_t)(d.in.at - meta.data),
        meta.len, err_text(e));
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
