/* Decodes a client's transaction and verifies signatures. What must not be signed, policy.c refuses. */
#include "stellar/envelope.h"

#include <string.h>

#include "stellar/account.h"
#include "wire.h"

static struct bytes span_from(const uint8_t *start, const struct xdr_reader *reader)
{
    return (struct bytes){start, (size_t)(reader->at - start)};
}

static enum err read_time_bounds(struct xdr_reader *in, struct preconditions *out)
{
    enum err e = xdr_u64(in, &out->min_time_s);
    return e != ERR_OK ? e : xdr_u64(in, &out->max_time_s);
}

static enum err read_optional_time_bounds(struct xdr_reader *in, struct preconditions *out)
{
    bool present;
    enum err e = xdr_bool(in, &present);
    return e != ERR_OK || !present ? e : read_time_bounds(in, out);
}

static enum err read_optional_ledger_bounds(struct xdr_reader *in, struct preconditions *out)
{
    bool present;
    enum err e = xdr_bool(in, &present);
    if (e != ERR_OK || !present || (e = xdr_u32(in, &out->min_ledger)) != ERR_OK)
        return e;
    return xdr_u32(in, &out->max_ledger);
}

static enum err read_extra_signers(struct xdr_reader *in, struct preconditions *out)
{
    enum err e = xdr_take_array(in, XDR_SignerKey, UINT32_MAX, &out->extra_signer_count, &out->extra_signers);
    if (out->extra_signer_count == 0)
        out->extra_signers = (struct bytes){0};
    return e;
}

static enum err read_preconditions_v2(struct xdr_reader *in, struct preconditions *out)
{
    enum err e;
    if ((e = read_optional_time_bounds(in, out)) != ERR_OK ||
        (e = read_optional_ledger_bounds(in, out)) != ERR_OK ||
        (e = xdr_bool(in, &out->has_min_sequence)) != ERR_OK ||
        (out->has_min_sequence && (e = xdr_i64(in, &out->min_sequence)) != ERR_OK) ||
        (e = xdr_u64(in, &out->min_sequence_age_s)) != ERR_OK ||
        (e = xdr_u32(in, &out->min_sequence_ledger_gap)) != ERR_OK)
        return e;
    return read_extra_signers(in, out);
}

static enum err read_preconditions(struct xdr_reader *in, struct preconditions *out)
{
    uint32_t type;
    enum err e = xdr_u32(in, &type);
    if (e != ERR_OK)
        return e;
    switch (type) {
    case PRECOND_NONE:
        return ERR_OK;
    case PRECOND_TIME:
        return read_time_bounds(in, out);
    case PRECOND_V2:
        return read_preconditions_v2(in, out);
    default:
        return ERR_XDR_UNKNOWN_ARM;
    }
}

/* The LedgerFootprint that SorobanResources begins with. */
static enum err read_footprint(struct bytes resources, struct envelope *out)
{
    struct xdr_reader in = xdr_reader(resources);
    enum err e = xdr_take_array(&in, XDR_LedgerKey, UINT32_MAX, &out->read_only_count, NULL);
    return e != ERR_OK ? e : xdr_count(&in, UINT32_MAX, &out->read_write_count);
}

static enum err read_ext(struct xdr_reader *in, struct envelope *out)
{
    struct bytes resources;
    enum err e = xdr_bool(in, &out->soroban);
    if (e != ERR_OK || !out->soroban)
        return e;
    if ((e = xdr_take(in, XDR_SorobanTransactionDataExt, NULL)) != ERR_OK ||
        (e = xdr_take(in, XDR_SorobanResources, &resources)) != ERR_OK ||
        (e = read_footprint(resources, out)) != ERR_OK)
        return e;
    return xdr_i64(in, &out->resource_fee_stroops);
}

/* Reads memo, operations and ext. They are encoded alike in V0 and V1; V0 allows only ext 0. */
static enum err read_tail(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    struct bytes memo;
    enum err e;
    if ((e = xdr_take(in, XDR_Memo, &memo)) != ERR_OK ||
        (e = xdr_take_array(in, XDR_Operation, OPERATIONS_MAX, &out->operation_count, &out->operations)) !=
            ERR_OK ||
        (e = read_ext(in, out)) != ERR_OK)
        return e;
    out->has_memo = be32_get(memo.data) != 0; /* 0: MEMO_NONE */
    out->tail = span_from(start, in);
    return ERR_OK;
}

static enum err read_transaction(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    bool v0 = out->form == ENVELOPE_V0;
    enum err e = v0 ? xdr_opaque(in, out->source.bytes, sizeof out->source.bytes)
                    : account_muxed_read(in, &out->source, &out->source_muxed);
    if (e != ERR_OK || (e = xdr_u32(in, &out->fee_stroops)) != ERR_OK ||
        (e = xdr_i64(in, &out->sequence)) != ERR_OK ||
        (e = v0 ? read_optional_time_bounds(in, &out->preconditions)
                : read_preconditions(in, &out->preconditions)) != ERR_OK ||
        (e = read_tail(in, out)) != ERR_OK)
        return e;
    out->body = span_from(start, in);
    return ERR_OK;
}

static enum err read_signatures(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    enum err e = xdr_count(in, SIGNATURES_MAX, &out->signature_count);
    for (uint32_t i = 0; e == ERR_OK && i < out->signature_count; i++) {
        struct decorated_signature *signature = &out->signatures[i];
        struct xdr_reader length;
        struct bytes opaque;
        uint32_t len;
        if ((e = xdr_opaque(in, signature->hint, sizeof signature->hint)) != ERR_OK ||
            (e = xdr_take(in, XDR_Signature, &opaque)) != ERR_OK)
            break;
        length = xdr_reader(opaque);
        if ((e = xdr_u32(&length, &len)) == ERR_OK)
            signature->signature = (struct bytes){length.at, len};
    }
    out->signature_list = span_from(start, in);
    return e;
}

static enum err read_signed(struct xdr_reader *in, struct envelope *out)
{
    enum err e = read_transaction(in, out);
    return e != ERR_OK ? e : read_signatures(in, out);
}

/* The schema has one kind of inner transaction, and of ext. */
static enum err read_fee_bump(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    bool muxed;
    int64_t fee_stroops;
    uint32_t inner_type, ext;
    enum err e;
    if ((e = account_muxed_read(in, &out->fee_source, &muxed)) != ERR_OK ||
        (e = xdr_i64(in, &fee_stroops)) != ERR_OK || (e = xdr_u32(in, &inner_type)) != ERR_OK ||
        (e = read_signed(in, out)) != ERR_OK || (e = xdr_u32(in, &ext)) != ERR_OK)
        return e;
    out->fee_bump = span_from(start, in);
    return ERR_OK;
}

static enum err read_envelope(struct xdr_reader *in, struct envelope *out)
{
    uint32_t type;
    enum err e = xdr_u32(in, &type);
    if (e != ERR_OK)
        return e;
    switch (type) {
    case ENVELOPE_TYPE_TX_V0:
        out->form = ENVELOPE_V0;
        return read_signed(in, out);
    case ENVELOPE_TYPE_TX:
        out->form = ENVELOPE_V1;
        return read_signed(in, out);
    case ENVELOPE_TYPE_TX_FEE_BUMP:
        out->form = ENVELOPE_FEE_BUMP;
        return read_fee_bump(in, out);
    default:
        return ERR_XDR_UNKNOWN_ARM;
    }
}

enum err envelope_read(struct bytes xdr, struct envelope *out)
{
    struct xdr_reader in = xdr_reader(xdr);
    *out = (struct envelope){0};
    return read_envelope(&in, out);
}

/* Validates the whole value before it is read, so that no read fails on malformed bytes and detail names the
 * byte at which decoding failed. */
static enum err decode(enum xdr_type type, enum err (*read)(struct xdr_reader *in, struct envelope *out),
    struct bytes xdr, struct envelope *out, struct detail *detail)
{
    struct xdr_reader whole = xdr_reader(xdr), in = whole;
    enum err e = xdr_take(&whole, type, NULL);
    if (e == ERR_OK)
        e = xdr_end(&whole);
    if (e != ERR_OK)
        return detail_set(detail, ERR_INVALID_TRANSACTION_XDR, "Not a %s: at byte %zu of %zu: %s",
            xdr_type_name(type), (size_t)(whole.at - xdr.data), xdr.len, err_text(e));
    e = read(&in, out);
    return e == ERR_OK ? e : detail_set(detail, ERR_INVALID_TRANSACTION_XDR, "%s", err_text(e));
}

enum err envelope_decode(struct bytes xdr, struct envelope *out, struct detail *detail)
{
    *out = (struct envelope){0};
    return decode(XDR_TransactionEnvelope, read_envelope, xdr, out, detail);
}

enum err transaction_decode(struct bytes xdr, struct envelope *out, struct detail *detail)
{
    *out = (struct envelope){.form = ENVELOPE_V1};
    return decode(XDR_Transaction, read_transaction, xdr, out, detail);
}

bool envelope_verify(const struct envelope *envelope, const uint8_t hint[static 4], struct bytes message,
    const struct public_key *signer, unsigned *verifications)
{
    for (uint32_t i = 0; i<envelope->signature_count && * verifications> 0; i++) {
        const struct decorated_signature *decorated = &envelope->signatures[i];
        struct signature signature;
        if (memcmp(decorated->hint, hint, sizeof decorated->hint) != 0 ||
            decorated->signature.len != sizeof signature.bytes)
            continue;
        memcpy(signature.bytes, decorated->signature.data, sizeof signature.bytes);
        (*verifications)--;
        if (signature_valid_of(&signature, message, signer))
            return true;
    }
    return false;
}
