/* Decodes the value of a ledger and verifies its signature. Which nodes are trusted is never decided here. */
#include "stellar/stellar_value.h"

#include "base/mem.h"
#include "wire.h"
#include "xdr/xdr.h"

enum {
    LEDGER_UPGRADE_VERSION = 1, /* LedgerUpgradeType */
    LEDGER_UPGRADE_CONFIG = 6,
};

static bool has_ms(enum stellar_value_kind kind)
{
    return kind == STELLAR_VALUE_SIGNED_MS || kind == STELLAR_VALUE_EMPTY_TX_SET_MS;
}

static bool drops_set(enum stellar_value_kind kind)
{
    return kind == STELLAR_VALUE_EMPTY_TX_SET || kind == STELLAR_VALUE_EMPTY_TX_SET_MS;
}

static enum err read_hash(struct xdr_reader *in, struct hash *out)
{
    return xdr_opaque(in, out->bytes, sizeof out->bytes);
}

/* ---- upgrades */

/* Validators skip an upgrade that they do not know, so none is an error. The walker has checked all lengths.
 */
static void note_upgrade(struct bytes upgrade, struct stellar_value *out)
{
    struct xdr_reader in = xdr_reader(upgrade);
    uint32_t type, version;
    if (xdr_u32(&in, &type) != ERR_OK)
        return;
    out->upgrades_config |= type == LEDGER_UPGRADE_CONFIG;
    if (type == LEDGER_UPGRADE_VERSION && xdr_u32(&in, &version) == ERR_OK)
        out->upgrades_protocol = version;
}

static enum err read_upgrades(struct xdr_reader *in, struct stellar_value *out)
{
    uint32_t count, len;
    struct bytes upgrade;
    enum err e = xdr_count(in, UINT32_MAX, &count);
    for (; e == ERR_OK && count > 0; count--) {
        if ((e = xdr_take(in, XDR_UpgradeType, &upgrade)) != ERR_OK)
            return e;
        struct xdr_reader inside = xdr_reader(upgrade);
        if ((e = xdr_count(&inside, UINT32_MAX, &len)) == ERR_OK)
            note_upgrade((struct bytes){inside.at, len}, out);
    }
    return e;
}

/* ---- the extension */

/* A LedgerCloseValueSignature. A signature of another length than Ed25519's is none. */
static enum err read_signature(struct xdr_reader *in, struct stellar_value *out)
{
    uint32_t key_type, len;
    enum err e;
    if ((e = xdr_u32(in, &key_type)) != ERR_OK ||
        (e = xdr_opaque(in, out->node.bytes, sizeof out->node.bytes)) != ERR_OK ||
        (e = xdr_count(in, sizeof out->signature.bytes, &len)) != ERR_OK)
        return e;
    out->has_signature = len == sizeof out->signature.bytes;
    return out->has_signature ? xdr_opaque(in, out->signature.bytes, len) : ERR_OK;
}

/* What comes before the signature of a value whose set was dropped. */
static enum err read_proposed(struct xdr_reader *in, struct stellar_value *out)
{
    uint8_t previous[32 + 4]; /* the ledger before, and its protocol */
    enum err e = read_hash(in, &out->signed_set_hash);
    return e != ERR_OK ? e : xdr_opaque(in, previous, sizeof previous);
}

/* in is one StellarValueExt, which the walker has validated. */
static enum err read_extension(struct xdr_reader *in, struct stellar_value *out)
{
    uint32_t kind;
    enum err e = xdr_u32(in, &kind);
    if (e != ERR_OK)
        return e;
    out->kind = (enum stellar_value_kind)kind;
    out->signed_set_hash = out->tx_set_hash;
    out->close_time_ms = out->close_time_s * 1000;
    if (out->kind == STELLAR_VALUE_BASIC)
        return ERR_OK;
    if (has_ms(out->kind) && (e = xdr_u64(in, &out->close_time_ms)) != ERR_OK)
        return e;
    if (drops_set(out->kind) && (e = read_proposed(in, out)) != ERR_OK)
        return e;
    return read_signature(in, out);
}

enum err stellar_value_decode(struct bytes xdr, struct stellar_value *out)
{
    *out = (struct stellar_value){0};
    enum err e = xdr_check(XDR_StellarValue, xdr);
    if (e != ERR_OK)
        return e;
    struct xdr_reader in = xdr_reader(xdr);
    if ((e = read_hash(&in, &out->tx_set_hash)) != ERR_OK ||
        (e = xdr_u64(&in, &out->close_time_s)) != ERR_OK || (e = read_upgrades(&in, out)) != ERR_OK ||
        (e = read_extension(&in, out)) != ERR_OK)
        return e;
    out->times_differ = out->close_time_s != out->close_time_ms / 1000;
    return ERR_OK;
}

/* ---- the signature */

/*
 * What is signed: HerderImpl::verifyStellarValueSignature of stellar-core, verified on public ledgers of
 * protocols 20 to 26. With milliseconds: CAP-88, "Value Signatures", status Accepted. No public network runs
 * it yet, and its implementation in core was not merged when this was written (24 November 2026).
 */
bool stellar_value_verify(const struct stellar_value *value, const struct network_id *network)
{
    struct buf payload CLEANUP(buf_free) = {0};
    if (!value->has_signature)
        return false;
    buf_add(&payload, network->bytes, sizeof network->bytes);
    buf_add_u32(&payload, ENVELOPE_TYPE_SCPVALUE);
    buf_add(&payload, value->signed_set_hash.bytes, sizeof value->signed_set_hash.bytes);
    buf_add_u64(&payload, value->close_time_s);
    if (has_ms(value->kind))
        buf_add_u64(&payload, value->close_time_ms);
    return signature_valid_of(&value->signature, buf_bytes(&payload), &value->node);
}
