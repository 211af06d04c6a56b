/* What follows from an answer of sendTransaction. Pure: no lock, database or clock. */
#pragma once

#include "rpc/rpc.h"

/* The answers of all addresses of RPC_URL to the same bytes count as the one that comes last here. */
enum answer {
    ANSWER_OPEN,     /* says nothing final; the ledger decides. The same bytes go out after the next ledger */
    ANSWER_NO_ROOM,  /* refused for its fee: another bid after the next ledger (grant/bid_rule.h) */
    ANSWER_REJECTED, /* no ledger takes the transaction as it is: sending stops until the client submits again
                      */
    ANSWER_TAKEN     /* queued there */
};

/* e, sent: of rpc_send. A node whose store is older than round_ledger may not know the accounts of the
 * transaction: it rejects nothing. */
enum answer answer_of(enum err e, const struct rpc_sent *sent, int64_t round_ledger);
