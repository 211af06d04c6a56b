/* The codes of results and what they say of sequence numbers. What ends a lease, pool/settle.c decides. */
#include "stellar/result.h"

/* TransactionResultCode, with the names of the protocol. */
#define RESULT_TABLE(X)                                                                                      \
    X(1, FEE_BUMP_INNER_SUCCESS)                                                                             \
    X(0, SUCCESS)                                                                                            \
    X(-1, FAILED)                                                                                            \
    X(-2, TOO_EARLY)                                                                                         \
    X(-3, TOO_LATE)                                                                                          \
    X(-4, MISSING_OPERATION)                                                                                 \
    X(-5, BAD_SEQ)                                                                                           \
    X(-6, BAD_AUTH)                                                                                          \
    X(-7, INSUFFICIENT_BALANCE)                                                                              \
    X(-8, NO_ACCOUNT)                                                                                        \
    X(-9, INSUFFICIENT_FEE)                                                                                  \
    X(-10, BAD_AUTH_EXTRA)                                                                                   \
    X(-11, INTERNAL_ERROR)                                                                                   \
    X(-12, NOT_SUPPORTED)                                                                                    \
    X(-13, FEE_BUMP_INNER_FAILED)                                                                            \
    X(-14, BAD_SPONSORSHIP)                                                                                  \
    X(-15, BAD_MIN_SEQ_AGE_OR_GAP)                                                                           \
    X(-16, MALFORMED)                                                                                        \
    X(-17, SOROBAN_INVALID)                                                                                  \
    X(-18, FROZEN_KEY_ACCESSED)

enum result_code {
#define X(code, name) TX_##name = (code),
    RESULT_TABLE(X)
#undef X
};

const char *result_code_name(int32_t code)
{
    switch (code) {
#define X(value, name)                                                                                       \
    case value:                                                                                              \
        return "tx" #name;
        RESULT_TABLE(X)
#undef X
    default:
        return "tx?";
    }
}

/*
 * The codes that stellar-core sets after it has consumed the sequence number. A transaction that fails before
 * that is not in a ledger, unless an earlier transaction of the same ledger made it fail.
 */
bool result_consumes_sequence(int32_t code)
{
    switch (code) {
    case TX_SUCCESS:
    case TX_FAILED:
    case TX_BAD_AUTH:
    case TX_BAD_AUTH_EXTRA:
    case TX_INSUFFICIENT_BALANCE:
    case TX_INTERNAL_ERROR:
    case TX_BAD_SPONSORSHIP:
    case TX_BAD_MIN_SEQ_AGE_OR_GAP:
        return true;
    default:
        return false;
    }
}

bool result_is_success(int32_t code)
{
    return code == TX_SUCCESS;
}

static bool is_fee_bump(int32_t code)
{
    return code == TX_FEE_BUMP_INNER_SUCCESS || code == TX_FEE_BUMP_INNER_FAILED;
}

/* Fee charged and code; of a fee bump then the inner hash, and fee charged and code of the inner result. */
int32_t result_code(struct bytes result)
{
    const int32_t code = (int32_t)be32_get(result.data + 8);
    return is_fee_bump(code) ? (int32_t)be32_get(result.data + 8 + 4 + 32 + 8) : code;
}

int64_t result_fee_charged(struct bytes result)
{
    return result.len < 8 ? 0 : (int64_t)be64_get(result.data);
}

/* Reads what TransactionResultPair and InnerTransactionResultPair begin with: hash, fee charged, code. */
static void read_head(struct xdr_reader *reader, struct hash *hash, int32_t *code)
{
    xdr_opaque(reader, hash->bytes, sizeof hash->bytes);
    xdr_i64(reader); /* fee charged */
    *code = xdr_i32(reader);
}

struct bytes result_pair_read(struct xdr_reader *reader, struct ledger_transaction *out)
{
    const struct bytes span = xdr_take(reader, XDR_TransactionResultPair);
    struct xdr_reader pair = xdr_reader(span);
    *out = (struct ledger_transaction){0};
    if (reader->e != ERR_OK)
        return span;
    read_head(&pair, &out->hash, &out->code);
    out->result = (struct bytes){span.data + sizeof out->hash.bytes, span.len - sizeof out->hash.bytes};
    out->fee_bump = is_fee_bump(out->code);
    if (out->fee_bump)
        read_head(&pair, &out->inner_hash, &out->inner_code);
    return span;
}
