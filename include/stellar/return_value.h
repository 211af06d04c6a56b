/* What the call of a contract returned. */
#ifndef FAIRWAY_STELLAR_RETURN_VALUE_H
#define FAIRWAY_STELLAR_RETURN_VALUE_H

#include "base/bytes.h"

/*
 * Finds the return value of an InvokeHostFunction in the TransactionMeta (V3, V4) of a transaction. No hash
 * of the ledger covers the metadata, but the result of a call that succeeded is the SHA-256 of its return
 * value and events (InvokeHostFunctionSuccessPreImage). The result is a span of an SCVal in meta; empty: the
 * transaction called no contract, failed, or the metadata does not have what its result names. result is a
 * valid TransactionResult, and meta a valid TransactionMeta.
 */
struct bytes return_value(struct bytes result, struct bytes meta);

#endif
