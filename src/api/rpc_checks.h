/* What is asked of Stellar RPC before a request goes to the engine. Each makes one call, which blocks. */
#ifndef FAIRWAY_API_RPC_CHECKS_H
#define FAIRWAY_API_RPC_CHECKS_H

#include "rpc/rpc.h"
#include "stellar/authority.h"
#include "stellar/policy.h"

/*
 * Simulates a Soroban transaction, whose one operation policy_check has accepted, as one of source's.
 * Authorization entries must be there and be signed, because they belong to what is leased.
 * ERR_SIMULATION_FAILED: it fails, or entries have to be restored first; detail has the server's words, and
 * out->report more of them. ERR_RPC_UNAVAILABLE, ERR_SHUTTING_DOWN: the simulation has no result. The caller
 * frees *out, also on error.
 */
MUST_CHECK enum err rpc_checks_simulate(struct rpc *rpc, const struct envelope *envelope,
    const struct public_key *source, struct rpc_simulation *out, struct detail *detail);

/*
 * For a transaction of AUTHORITY_UNKNOWN: reads the signers of the operations' sources, and sets
 * AUTHORITY_PROVED when one of them has signed. ERR_RPC_UNAVAILABLE, ERR_SHUTTING_DOWN: they cannot be read.
 */
MUST_CHECK enum err rpc_checks_signers(struct rpc *rpc, const struct envelope *envelope,
    const struct hash *hash, enum authority *authority, struct detail *detail);

#endif
