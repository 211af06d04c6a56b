#include "inspect.h"

#include <string.h>
#include <sysexits.h>

#include "base/mem.h"
#include "base/text.h"
#include "stellar/envelope.h"
#include "stellar/envelope_build.h"
#include "xdr/xdr.h"

enum {
    ENVELOPE_TYPE_FEE_BUMP = 5,
    KEY_MUXED_ED25519 = 0x100, /* CryptoKeyType of a MuxedAccount with an id */
};

static json_t *address_json(const struct public_key *key)
{
    char text[ADDRESS_SIZE];
    address_encode(key, text);
    return json_string(text);
}

/* The account of a MuxedAccount, without its id. */
static struct public_key read_account(struct xdr_reader *reader)
{
    struct public_key key;
    if (xdr_u32(reader) == KEY_MUXED_ED25519)
        xdr_u64(reader);
    xdr_opaque(reader, key.bytes, sizeof key.bytes);
    return key;
}

/* The source of each operation; null: the source of the transaction. */
static json_t *operation_sources_json(const struct envelope *envelope)
{
    struct xdr_reader reader = xdr_reader(envelope->operations);
    json_t *list = json_array();
    const uint32_t count = xdr_count(&reader, OPERATIONS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct xdr_reader operation = xdr_reader(xdr_take(&reader, XDR_Operation));
        const bool has_source = xdr_bool(&operation);
        const struct public_key source = has_source ? read_account(&operation) : (struct public_key){0};
        json_array_append_new(list, has_source ? address_json(&source) : json_null());
    }
    return list;
}

static json_t *preconditions_json(const struct preconditions *preconditions)
{
    json_t *out = json_object();
    json_object_set_new(out, "minTime", inspect_u64(preconditions->min_time_s));
    json_object_set_new(out, "maxTime", inspect_u64(preconditions->max_time_s));
    json_object_set_new(out, "minLedger", json_integer(preconditions->min_ledger));
    json_object_set_new(out, "maxLedger", json_integer(preconditions->max_ledger));
    json_object_set_new(out, "minSequence",
        preconditions->has_min_sequence ? inspect_i64(preconditions->min_sequence) : json_null());
    json_object_set_new(out, "minSequenceAge", inspect_u64(preconditions->min_sequence_age_s));
    json_object_set_new(out, "minSequenceLedgerGap", json_integer(preconditions->min_sequence_ledger_gap));
    json_object_set_new(out, "extraSigners", json_integer(preconditions->extra_signer_count));
    return out;
}

static json_t *signature_json(const uint8_t hint[4], struct bytes signature)
{
    char text[9];
    AUTO_FREE char *base64 = base64_encode(signature);
    json_t *out = json_object();
    hex_encode(hint, 4, text);
    json_object_set_new(out, "hint", json_string(text));
    json_object_set_new(out, "signature", json_string(base64));
    return out;
}

static void add_transaction(json_t *out, const struct network_id *network, const struct envelope *envelope)
{
    struct hash hash;
    if (network != NULL)
        hash = envelope_hash(network, envelope);
    json_object_set_new(out, "hash", network != NULL ? inspect_hash(&hash) : json_null());
    json_object_set_new(out, "source", address_json(&envelope->source));
    json_object_set_new(out, "sourceMuxed", json_boolean(envelope->source_muxed));
    json_object_set_new(out, "sequence", inspect_i64(envelope->sequence));
    json_object_set_new(out, "fee", inspect_i64(envelope->fee_stroops));
    json_object_set_new(out, "preconditions", preconditions_json(&envelope->preconditions));
    json_object_set_new(out, "memo", json_boolean(envelope->has_memo));
    json_object_set_new(out, "operationCount", json_integer(envelope->operation_count));
    json_object_set_new(out, "operationSources", operation_sources_json(envelope));
    json_object_set_new(out, "soroban", json_boolean(envelope->soroban));
    json_object_set_new(out, "resourceFee", inspect_i64(envelope->resource_fee_stroops));
    json_t *signatures = json_array();
    for (uint32_t i = 0; i < envelope->signature_count; i++)
        json_array_append_new(
            signatures, signature_json(envelope->signatures[i].hint, envelope->signatures[i].signature));
    json_object_set_new(out, "signatures", signatures);
}

/* FeeBumpTransactionEnvelope: the fee bump, then its signatures. envelope_decode has validated it. */
static enum err add_fee_bump(json_t *out, const struct network_id *network, struct bytes xdr)
{
    struct xdr_reader reader = xdr_reader(xdr);
    xdr_u32(&reader); /* the type */
    const struct bytes fee_bump = xdr_take(&reader, XDR_FeeBumpTransaction);
    struct xdr_reader inside = xdr_reader(fee_bump);
    const struct public_key source = read_account(&inside);
    const int64_t fee = xdr_i64(&inside);
    uint32_t count = xdr_count(&reader, SIGNATURES_MAX);
    if (inside.e != ERR_OK || reader.e != ERR_OK)
        return ERR_MALFORMED;
    struct hash hash;
    if (network != NULL)
        hash = fee_bump_hash(network, fee_bump);
    json_object_set_new(out, "hash", network != NULL ? inspect_hash(&hash) : json_null());
    json_object_set_new(out, "feeSource", address_json(&source));
    json_object_set_new(out, "fee", inspect_i64(fee));
    json_t *signatures = json_array();
    json_object_set_new(out, "signatures", signatures);
    for (; count > 0; count--) {
        uint8_t hint[4];
        xdr_opaque(&reader, hint, sizeof hint);
        struct xdr_reader signature = xdr_reader(xdr_take(&reader, XDR_Signature));
        const uint32_t len = xdr_u32(&signature);
        json_array_append_new(signatures, signature_json(hint, (struct bytes){signature.at, len}));
    }
    return reader.e;
}

static json_t *envelope_json(
    const struct network_id *network, struct bytes xdr, const struct envelope *envelope)
{
    static const char *const forms[] = {"v0", "v1", "feeBump"};
    json_t *out = json_object(), *transaction = out;
    json_object_set_new(out, "form", json_string(forms[envelope->form]));
    if (envelope->form == ENVELOPE_FEE_BUMP && add_fee_bump(out, network, xdr) == ERR_OK) {
        transaction = json_object();
        json_object_set_new(out, "inner", transaction);
    }
    add_transaction(transaction, network, envelope);
    return out;
}

int inspect_transaction(const struct network_id *network, const char *base64)
{
    CLEANUP(buf_free) struct buf xdr = {0};
    struct envelope envelope;
    struct detail detail = {"the transaction is not base64"};
    if (base64_decode(base64, strlen(base64), &xdr) != ERR_OK ||
        envelope_decode(buf_bytes(&xdr), &envelope, &detail) != ERR_OK) {
        fprintf(stderr, "inspect: %s\n", detail.text);
        return EX_DATAERR;
    }
    inspect_print(envelope_json(network, buf_bytes(&xdr), &envelope));
    return EX_OK;
}
