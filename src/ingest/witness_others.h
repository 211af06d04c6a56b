/* The other RPCs of a witness: which of them are asked, and how long none of them may answer. */
#ifndef FAIRWAY_INGEST_WITNESS_OTHERS_H
#define FAIRWAY_INGEST_WITNESS_OTHERS_H

#include "witness.h"

#define WITNESS_NONE RPC_ADDRESSES_MAX /* no index of witness->others */

/* Whether others[i] is asked: it is not the address that main uses. */
bool witness_asks(const struct witness *witness, size_t i);

/* Whether main's answers are used without a comparison: there is no other RPC, or none has answered for the
 * limit. Asking them now and then is enough, because a request may take its timeout. */
bool witness_given_up(const struct witness *witness);

/* Notes that no other RPC has answered. Returns wait until the limit, because main may have invented its
 * answer; then ERR_OK, with a warning. */
MUST_CHECK enum err witness_missing(struct witness *witness, enum err wait, struct detail *detail);
/* Notes that one has. */
void witness_answered(struct witness *witness);

/* Whether another RPC may answer what one has failed with this. */
bool witness_is_rpc_error(enum err e);

#endif
