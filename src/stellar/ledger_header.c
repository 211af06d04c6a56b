/* Decodes the header of a ledger. Its links are compared by ingest/cursor.c. */
#include "ledger_header.h"

static enum err read_hash(struct xdr_reader *reader, struct hash *out)
{
    return xdr_opaque(reader, out->bytes, sizeof out->bytes);
}

static enum err read_value(struct bytes stellar_value, struct hash *tx_set_hash, uint64_t *close_time_s)
{
    struct xdr_reader reader = xdr_reader(stellar_value);
    enum err e = read_hash(&reader, tx_set_hash);
    return e != ERR_OK ? e : xdr_u64(&reader, close_time_s);
}

/* totalCoins to baseFee. */
static enum err skip_totals(struct xdr_reader *reader)
{
    uint64_t total_coins, fee_pool, id_pool;
    uint32_t inflation_sequence, base_fee;
    enum err e;
    if ((e = xdr_u64(reader, &total_coins)) != ERR_OK || (e = xdr_u64(reader, &fee_pool)) != ERR_OK ||
        (e = xdr_u32(reader, &inflation_sequence)) != ERR_OK || (e = xdr_u64(reader, &id_pool)) != ERR_OK)
        return e;
    return xdr_u32(reader, &base_fee);
}

static enum err read_fields(
    struct bytes header, struct ledger *ledger, struct ledger_commitments *commitments)
{
    struct xdr_reader reader = xdr_reader(header);
    struct bytes value;
    enum err e;
    if ((e = xdr_u32(&reader, &ledger->protocol)) != ERR_OK ||
        (e = read_hash(&reader, &ledger->previous_hash)) != ERR_OK ||
        (e = xdr_take(&reader, XDR_StellarValue, &value)) != ERR_OK ||
        (e = read_value(value, &commitments->transaction_set, &ledger->close_time_s)) != ERR_OK ||
        (e = read_hash(&reader, &commitments->result_set)) != ERR_OK ||
        (e = xdr_take(&reader, XDR_Hash, NULL)) != ERR_OK || /* bucketListHash */
        (e = xdr_u32(&reader, &ledger->sequence)) != ERR_OK || (e = skip_totals(&reader)) != ERR_OK)
        return e;
    return xdr_u32(&reader, &ledger->base_reserve_stroops);
}

enum err ledger_header_read(
    struct xdr_reader *reader, struct ledger *ledger, struct ledger_commitments *commitments)
{
    struct bytes entry, header;
    enum err e = xdr_take(reader, XDR_LedgerHeaderHistoryEntry, &entry);
    if (e != ERR_OK)
        return e;
    struct xdr_reader inside = xdr_reader(entry);
    if ((e = read_hash(&inside, &ledger->hash)) != ERR_OK ||
        (e = xdr_take(&inside, XDR_LedgerHeader, &header)) != ERR_OK)
        return e;
    struct hash computed = sha256(header);
    ledger->hash_proved = hash_equal(&computed, &ledger->hash);
    return read_fields(header, ledger, commitments);
}
