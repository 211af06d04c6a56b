/*
 * Finds an RPC that is late: it returns the network's ledgers, each long after another RPC does. A ledger
 * that has waited for it is too old for grants.
 *
 * A clock may be wrong, and an RPC can name any number as that of its latest ledger. So neither proves that
 * another RPC is late. The hash of a ledger does: nobody knows it before the ledger has closed. An RPC is
 * late if another one had returned the hash WITNESS_LATE_MS before it had the ledger.
 */
#ifndef FAIRWAY_INGEST_WITNESS_LATE_H
#define FAIRWAY_INGEST_WITNESS_LATE_H

#include "witness.h"

/* Notes which ledgers rpcs[i] has. Returns whether it is late. */
bool witness_is_late(struct witness *witness, size_t i, const struct rpc_ledgers *answer);

/* Compares the latest ledgers of the RPC that is followed and of rpcs[i], after both were asked for the same
 * ones. If one is some ledgers ahead, and the other was asked for its latest, asks the first for its latest,
 * and remembers that. */
void witness_mark_lead(
    struct witness *witness, size_t i, const struct rpc_ledgers *followed, const struct rpc_ledgers *theirs);

/* Leaves rpcs[i] out, which is late. If it is followed, the one that was ahead of it is from now on. */
void witness_leave_out_late(struct witness *witness, size_t i);

#endif
