/* Decodes a client's transaction and verifies signatures. What must not be signed, policy.c refuses. */
#include "stellar/envelope.h"

#include <string.h>

#include "stellar/account.h"
#include "wire.h"

static struct bytes span_from(const uint8_t *start, const struct xdr_reader *reader)
{
    return (struct bytes){start, (size_t)(reader->at - start)};
}

static void read_time_bounds(struct xdr_reader *in, struct preconditions *out)
{
    out->min_time_s = xdr_u64(in);
    out->max_time_s = xdr_u64(in);
}

static void read_optional_time_bounds(struct xdr_reader *in, struct preconditions *out)
{
    if (xdr_bool(in))
        read_time_bounds(in, out);
}

static void read_preconditions_v2(struct xdr_reader *in, struct preconditions *out)
{
    read_optional_time_bounds(in, out);
    if (xdr_bool(in)) {
        out->min_ledger = xdr_u32(in);
        out->max_ledger = xdr_u32(in);
    }
    out->has_min_sequence = xdr_bool(in);
    if (out->has_min_sequence)
        out->min_sequence = xdr_i64(in);
    out->min_sequence_age_s = xdr_u64(in);
    out->min_sequence_ledger_gap = xdr_u32(in);
    out->extra_signers = xdr_take_array(in, XDR_SignerKey, UINT32_MAX, &out->extra_signer_count);
    if (out->extra_signer_count == 0)
        out->extra_signers = (struct bytes){0};
}

static void read_preconditions(struct xdr_reader *in, struct preconditions *out)
{
    switch (xdr_u32(in)) {
    case PRECOND_NONE:
        break;
    case PRECOND_TIME:
        read_time_bounds(in, out);
        break;
    case PRECOND_V2:
        read_preconditions_v2(in, out);
        break;
    default:
        xdr_fail(in, ERR_XDR_UNKNOWN_ARM);
    }
}

/* The LedgerFootprint that SorobanResources begins with. */
static void read_footprint(struct bytes resources, struct envelope *out)
{
    struct xdr_reader in = xdr_reader(resources);
    xdr_take_array(&in, XDR_LedgerKey, UINT32_MAX, &out->read_only_count);
    out->read_write_count = xdr_u32(&in);
}

static void read_ext(struct xdr_reader *in, struct envelope *out)
{
    out->soroban = xdr_bool(in);
    if (!out->soroban)
        return;
    xdr_take(in, XDR_SorobanTransactionDataExt);
    read_footprint(xdr_take(in, XDR_SorobanResources), out);
    out->resource_fee_stroops = xdr_i64(in);
}

/* Reads memo, operations and ext. They are encoded alike in V0 and V1; V0 allows only ext 0. */
static void read_tail(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    struct xdr_reader memo = xdr_reader(xdr_take(in, XDR_Memo));
    out->has_memo = xdr_u32(&memo) != 0; /* 0: MEMO_NONE */
    out->operations = xdr_take_array(in, XDR_Operation, OPERATIONS_MAX, &out->operation_count);
    read_ext(in, out);
    out->tail = span_from(start, in);
}

static void read_transaction(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    const bool v0 = out->form == ENVELOPE_V0;
    if (v0)
        xdr_opaque(in, out->source.bytes, sizeof out->source.bytes);
    else
        out->source = account_muxed_read(in, &out->source_muxed);
    out->fee_stroops = xdr_u32(in);
    out->sequence = xdr_i64(in);
    if (v0)
        read_optional_time_bounds(in, &out->preconditions);
    else
        read_preconditions(in, &out->preconditions);
    read_tail(in, out);
    out->body = span_from(start, in);
}

static void read_signatures(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    out->signature_count = xdr_count(in, SIGNATURES_MAX);
    for (uint32_t i = 0; i < out->signature_count; i++) {
        struct decorated_signature *signature = &out->signatures[i];
        xdr_opaque(in, signature->hint, sizeof signature->hint);
        struct xdr_reader opaque = xdr_reader(xdr_take(in, XDR_Signature));
        const uint32_t len = xdr_u32(&opaque);
        signature->signature = (struct bytes){opaque.at, len};
    }
    out->signature_list = span_from(start, in);
}

static void read_signed(struct xdr_reader *in, struct envelope *out)
{
    read_transaction(in, out);
    read_signatures(in, out);
}

/* The schema has one kind of inner transaction, and of ext. */
static void read_fee_bump(struct xdr_reader *in, struct envelope *out)
{
    const uint8_t *start = in->at;
    bool muxed;
    out->fee_source = account_muxed_read(in, &muxed);
    xdr_i64(in); /* the fee */
    xdr_u32(in); /* the type of the inner transaction */
    read_signed(in, out);
    xdr_u32(in); /* ext */
    out->fee_bump = span_from(start, in);
}

static void read_envelope(struct xdr_reader *in, struct envelope *out)
{
    switch (xdr_u32(in)) {
    case ENVELOPE_TYPE_TX_V0:
        out->form = ENVELOPE_V0;
        read_signed(in, out);
        break;
    case ENVELOPE_TYPE_TX:
        out->form = ENVELOPE_V1;
        read_signed(in, out);
        break;
    case ENVELOPE_TYPE_TX_FEE_BUMP:
        out->form = ENVELOPE_FEE_BUMP;
        read_fee_bump(in, out);
        break;
    default:
        xdr_fail(in, ERR_XDR_UNKNOWN_ARM);
    }
}

enum err envelope_read(struct bytes xdr, struct envelope *out)
{
    struct xdr_reader in = xdr_reader(xdr);
    *out = (struct envelope){0};
    read_envelope(&in, out);
    return in.e;
}

/* Validates the whole value before it is read, so that no read fails on malformed bytes and detail names the
 * byte at which decoding failed. */
static enum err decode(enum xdr_type type, void (*read)(struct xdr_reader *in, struct envelope *out),
    struct bytes xdr, struct envelope *out, struct detail *detail)
{
    struct xdr_reader whole = xdr_reader(xdr), in = whole;
    xdr_take(&whole, type);
    enum err e = xdr_end(&whole);
    if (e != ERR_OK)
        return detail_set(detail, ERR_INVALID_TRANSACTION_XDR, "Not a %s: at byte %zu of %zu: %s",
            xdr_type_name(type), (size_t)(whole.at - xdr.data), xdr.len, err_text(e));
    read(&in, out);
    return in.e == ERR_OK ? ERR_OK : detail_set(detail, ERR_INVALID_TRANSACTION_XDR, "%s", err_text(in.e));
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
