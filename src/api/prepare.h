/*
 * The transaction of a request for a lease, from the body to the engine: read, checked, simulated. A contract
 * call that entries alone authorize is prepared: a simulation finds its resources, whatever it came with.
 * What the client has signed, the function and the authorization entries, is never changed.
 */
#ifndef FAIRWAY_API_PREPARE_H
#define FAIRWAY_API_PREPARE_H

#include "call.h"

/*
 * Reads either transactionXdr, or func and auth: a HostFunction, and a list of SorobanAuthorizationEntry
 * values. ERR_INVALID_REQUEST: neither, or both. ERR_INVALID_TRANSACTION_XDR: they do not decode.
 */
MUST_CHECK enum err prepare_read(struct call *call, const json_t *body, struct detail *detail);

/*
 * Checks all that needs no network: policy_check, and the entries of a call that they alone authorize. Errors
 * of policy_check; ERR_SIGNATURE_MISSING (the members have "addresses"); ERR_AUTHORIZATION_EXPIRES. tip: the
 * last ledger that this replica knows; 0: none.
 */
MUST_CHECK enum err prepare_check(struct call *call, uint32_t tip, struct detail *detail);

/* Has a Soroban transaction simulated, by call->asked: when that is done, prepare_simulated is called. */
void prepare_simulate(struct call *call, struct rpc *asked);

/*
 * Reads the simulation, and prepares such a call. Authorization entries must be there and be signed, if the
 * call needs any: they belong to what is leased. Errors: ERR_NOT_YET: as rpc_asking.
 * ERR_SIMULATION_FAILED: it fails, or entries have to be restored first (detail has the server's words, and
 * the members more of them); ERR_AUTHORIZATION_USED: it fails because a nonce is consumed;
 * ERR_NOTHING_TO_SUBMIT: the call changes nothing (the members have "returnValue"); policy_check's for what
 * was prepared; ERR_RESOURCES_OUTDATED for what the client has prepared; ERR_RPC_UNAVAILABLE, ERR_OVERLOADED,
 * ERR_SHUTTING_DOWN: the simulation has no result.
 */
MUST_CHECK enum err prepare_simulated(struct call *call, struct detail *detail);

#endif
