/* What the call of a contract returned, or why it failed. */
#pragma once

#include "base/bytes.h"

/*
 * Finds the return value of an InvokeHostFunction in the TransactionMeta (V3, V4) of a transaction. No hash
 * of the ledger covers the metadata, but the result of a call that succeeded is the SHA-256 of its return
 * value and events (InvokeHostFunctionSuccessPreImage). The result is a span of an SCVal in meta; empty: the
 * transaction called no contract, or the metadata does not have what its result names. Of a call that failed
 * it is a span of DiagnosticEvents, one after the other, from the first error on: the word of the RPC's node,
 * which no hash proves; empty: it tells none. result is a valid TransactionResult, and meta a valid
 * TransactionMeta.
 */
struct bytes return_value(struct bytes result, struct bytes meta);
#define CALL_FAILURE_MAX 2900 /* bytes of the events: less than 4 KiB of JSON */

/* Whether these events say that the nonce of an authorization entry was consumed before. */
bool return_value_nonce_used(struct bytes events);
/* Whether the host's log with Error(Auth, ExistingValue), as events or text, is about a nonce. Its other
 * reason is that a contract asks an address twice in one frame; but an argument may be those words. */
bool return_value_says_nonce(struct bytes log);
