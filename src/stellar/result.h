/* TransactionResultPair: which transaction, and how it ended. */
#ifndef FAIRWAY_STELLAR_RESULT_H
#define FAIRWAY_STELLAR_RESULT_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* Validates and passes one pair; *span is its bytes, over which txSetResultHash goes. */
MUST_CHECK enum err result_pair_read(
    struct xdr_reader *reader, struct ledger_transaction *out, struct bytes *span);

#endif
