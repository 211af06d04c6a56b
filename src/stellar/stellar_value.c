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

static void read_hash(struct xdr_reader *in, struct hash *out)
{
    xdr_opaque(in, out->bytes, sizeof out->bytes);
}

/* ---- upgrades */

/* An UpgradeType, which is opaque. Validators skip an upgrade that they do not know, so none is an error. */
static void note_upgrade(struct bytes opaque, struct stellar_value *out)
{
    struct xdr_reader in = xdr_reader(opaque);
    const uint32_t len = xdr_u32(&in);
    in = xdr_reader((struct bytes){in.at, len});
    const uint32_t type = xdr_u32(&in);
    out->upgrades_config |= type == LEDGER_UPGRADE_CONFIG;
    if (type != LEDGER_UPGRADE_VERSION)
        return;
    const uint32_t version = xdr_u32(&in);
    if (in.e == ERR_OK)
        out->upgrades_protocol = version;
}

/* ---- the extension */

/* A LedgerCloseValueSignature. A signature of another length than Ed25519's is none. */
static void read_signature(struct xdr_reader *in, struct stellar_value *out)
{
    xdr_u32(in); /* the type of the key */
    xdr_opaque(in, out->node.bytes, sizeof out->node.bytes);
    out->has_signature = xdr_count(in, sizeof out->signature.bytes) == sizeof out->signature.bytes;
    if (out->has_signature)
        xdr_opaque(in, out->signature.bytes, sizeof out->signature.bytes);
}

/* What comes before the signature of a value whose set was dropped. */
static void read_proposed(struct xdr_reader *in, struct stellar_value *out)
{
    uint8_t previous[32 + 4]; /* the ledger before, and its protocol */
    read_hash(in, &out->signed_set_hash);
    xdr_opaque(in, previous, sizeof previous);
}

/* in is one StellarValueExt, which the walker has validated. */
static void read_extension(struct xdr_reader *in, struct stellar_value *out)
{
    out->kind = (enum stellar_value_kind)xdr_u32(in);
    out->signed_set_hash = out->tx_set_hash;
    out->close_time_ms = out->close_time_s * 1000;
    if (out->kind == STELLAR_VALUE_BASIC)
        return;
    if (has_ms(out->kind))
        out->close_time_ms = xdr_u64(in);
    if (drops_set(out->kind))
        read_proposed(in, out);
    read_signature(in, out);
}

enum err stellar_value_decode(struct bytes xdr, struct stellar_value *out)
{
    *out = (struct stellar_value){0};
    enum err e = xdr_check(XDR_StellarValue, xdr);
    if (e != ERR_OK)
        return e;
    struct xdr_reader in = xdr_reader(xdr);
    read_hash(&in, &out->tx_set_hash);
    out->close_time_s = xdr_u64(&in);
    for (uint32_t count = xdr_u32(&in); in.e == ERR_OK && count > 0; count--)
        note_upgrade(xdr_take(&in, XDR_UpgradeType), out);
    read_extension(&in, out);
    out->times_differ = out->close_time_s != out->close_time_ms / 1000;
    return in.e;
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
