/* The RPCs of a witness: which one is followed, which ones take part, and in which order they are asked. */
#ifndef FAIRWAY_INGEST_WITNESS_RPCS_H
#define FAIRWAY_INGEST_WITNESS_RPCS_H

#include "witness.h"

/* Sets order to the count indexes of rpcs: the one that is followed, the one that has confirmed last, and the
 * others in the order of RPC_URL. */
void witness_order(const struct witness *witness, size_t order[RPC_ADDRESSES_MAX]);

/* How an RPC is asked: the one that is followed has more time. */
const struct feed *witness_asked(const struct witness *witness, size_t i);

/* Whether rpcs[i] is asked now: it takes part, or was not asked since it was left out for the limit. */
bool witness_asks(const struct witness *witness, size_t i);

/* Follows rpcs[i], which takes part then. why: of the one that was followed. */
void witness_follow(struct witness *witness, size_t i, const char *why);

/* Notes that rpcs[i] has confirmed a ledger: it takes part, and is asked first. */
void witness_confirms(struct witness *witness, size_t i);

/* Leaves rpcs[i] out, or asks it again later if it is left out. */
void witness_leave_out(struct witness *witness, size_t i);
/* Leaves out all but the one that is followed, and logs that if it changes anything. */
void witness_leave_out_others(struct witness *witness);
/* Whether they are. */
bool witness_alone(const struct witness *witness);

/* Whether another RPC may answer what one has failed with this. */
bool witness_is_rpc_error(enum err e);

#endif
