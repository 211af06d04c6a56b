/* The codes of results and what they say of sequence numbers. What ends a lease, pool/settle.c decides. */
#include "stellar/result.h"

/* TransactionResultCode: those that something is decided by. */
enum {
    TX_FEE_BUMP_INNER_SUCCESS = 1,
    TX_SUCCESS = 0,
    TX_FAILED = -1,
    TX_BAD_AUTH = -6,
    TX_INSUFFICIENT_BALANCE = -7,
    TX_BAD_AUTH_EXTRA = -10,
    TX_INTERNAL_ERROR = -11,
    TX_FEE_BUMP_INNER_FAILED = -13,
    TX_BAD_SPONSORSHIP = -14,
    TX_BAD_MIN_SEQ_AGE_OR_GAP = -15,
};

const char *result_code_name(int32_t code)
{
    const char *name = xdr_value_name(XDR_TransactionResultCode, code);
    return name == NULL ? "tx?" : name;
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
