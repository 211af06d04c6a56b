/* What follows from an answer of sendTransaction, and from the age of a bid. Pure: no lock, database or
 * clock. */
#ifndef FAIRWAY_SUBMIT_ANSWER_H
#define FAIRWAY_SUBMIT_ANSWER_H

#include "rpc/rpc.h"

/* A node drops what has been queued for so many closes, silently. */
#define ROUND_LEDGERS 4
/* It takes the same bytes again so many ledgers after they were first sent. */
#define ROUND_AGAIN (ROUND_LEDGERS + 10)

/* The answers of all addresses of RPC_URL to the same bytes count as the one that comes last here. */
enum answer {
    ANSWER_OPEN,     /* says nothing final; the ledger decides. The same bytes go out after the next ledger */
    ANSWER_NO_ROOM,  /* refused for its fee: after the next ledger another hash, one stroop higher */
    ANSWER_REJECTED, /* no ledger takes the transaction as it is: sending stops until the client submits again
                      */
    ANSWER_TAKEN     /* queued there */
};

/* e, sent: of rpc_send. A node whose store is older than round_ledger may not know the accounts of the
 * transaction: it rejects nothing. */
enum answer answer_of(enum err e, const struct rpc_sent *sent, int64_t round_ledger);

enum submit_round {
    ROUND_SEND,  /* these bytes */
    ROUND_RAISE, /* the node has dropped and banned them: the next bid, one stroop higher */
    ROUND_WAIT   /* the same, and the client's cap forbids a higher bid: until the ban has ended */
};

/* What to do with a due bid that was first sent at round_ledger. max_fee_stroops: 0: none. */
enum submit_round submit_round_of(
    int64_t round_ledger, int64_t tip, int64_t bid_stroops, int64_t max_fee_stroops);

#endif
