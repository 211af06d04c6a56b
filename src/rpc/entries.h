/* getLedgerEntries, for whatever keys. */
#ifndef FAIRWAY_RPC_ENTRIES_H
#define FAIRWAY_RPC_ENTRIES_H

#include "call.h"

/*
 * Takes keys (an array of base64 LedgerKeys). *result is the caller's to json_decref; NULL on error. *ledger:
 * as of which the entries are. *entries is *result's array of them, or NULL when none exists.
 *
 * A healthy stellar-rpc answers with an internal error for some milliseconds, when it names a ledger whose
 * snapshot its captive core has not published. The call is repeated for up to two seconds while the answer is
 * an internal error; it ends with ERR_CANCELLED when the rpc's cancel_fd becomes readable. Other errors are
 * call()'s and returned at once.
 */
MUST_CHECK enum err entries_read(struct rpc *rpc, json_t *keys, json_t **result, uint32_t *ledger,
    const json_t **entries, struct detail *detail);

#endif
