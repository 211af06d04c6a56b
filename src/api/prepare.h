/*
 * The transaction of a request for a lease, from the body to the engine: read, checked, simulated. A contract
 * call that entries alone authorize is prepared: a simulation finds its resources, whatever it came with.
 * What the client has signed, the function and the authorization entries, is never changed.
 */
#pragma once

#include "call.h"

/*
 * Reads either transactionXdr, or func and auth: a HostFunction, and a list of SorobanAuthorizationEntry
 * values. ERR_INVALID_REQUEST: neither, or both. ERR_INVALID_TRANSACTION_XDR: they do not decode.
 */
MUST_CHECK enum err prepare_read(struct call *call, const json_t *body, struct detail *detail);

/* Checks all that needs no network, and reads the authorization entries. Errors of policy_check. */
MUST_CHECK enum err prepare_check(struct call *call, struct detail *detail);

/* Has a Soroban transaction simulated, by call->asked: when that is done, prepare_simulated is called.
 * Before, one call in some ledgers has the network's limits read. */
void prepare_simulate(struct call *call);

/*
 * Reads the simulation, and prepares such a call. Only what the host asks of entries is asked of them.
 * Errors: ERR_NOT_YET: as rpc_asking. ERR_SIMULATION_FAILED: it fails, or entries have to be restored first
 * (detail has the server's words, and the members more of them); because a nonce is consumed:
 * ERR_AUTHORIZATION_USED; because entries do not authorize it, and one is not signed: ERR_SIGNATURE_MISSING
 * (the members have "addresses"), or has expired: ERR_AUTHORIZATION_EXPIRES, also when one that counts
 * expires too soon; ERR_NOTHING_TO_SUBMIT: the call changes nothing (the members have "returnValue");
 * policy_check's for what was prepared; ERR_RESOURCES_OUTDATED for what the client has prepared;
 * ERR_RPC_UNAVAILABLE, ERR_OVERLOADED, ERR_SHUTTING_DOWN: the simulation has no result.
 */
MUST_CHECK enum err prepare_simulated(struct call *call, struct detail *detail);
