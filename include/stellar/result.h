/* Transaction results: what a code means, and the result pairs of a ledger. */
#pragma once

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* Whether an innermost result code in a ledger proves that the transaction consumed its sequence number. */
bool result_consumes_sequence(int32_t code);

/* Whether an innermost result code is txSUCCESS. */
bool result_is_success(int32_t code);

/* "txSUCCESS", "txFAILED", ...; "tx?" for a code that the schema lacks. (Such a result never decodes.) */
const char *result_code_name(int32_t code);

/* A TransactionResult from a source that no ledger proves; len 0: not known, or longer. */
struct result_kept {
    size_t len;
    uint8_t bytes[512];
};

/* The innermost code of a valid TransactionResult. */
int32_t result_code(struct bytes result);

/* What the transaction was charged, in stroops; 0: result is empty. It is a valid TransactionResult, or
 * empty.
 */
int64_t result_fee_charged(struct bytes result);

/* Reads and validates one TransactionResultPair, and returns its bytes, which txSetResultHash covers. */
struct bytes result_pair_read(struct xdr_reader *reader, struct ledger_transaction *out);
