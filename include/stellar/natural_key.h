/*
 * What a contract call that its authorization entries alone ask for (policy_invokes_for_entries) is, whoever
 * sends it and in whatever transaction: SHA-256 of the network, the host function, and of each entry, in
 * order, the address, the nonce and the root invocation. The network executes it once, because it consumes
 * each nonce. The signatures and when they expire do not count.
 */
#ifndef FAIRWAY_STELLAR_NATURAL_KEY_H
#define FAIRWAY_STELLAR_NATURAL_KEY_H

#include "stellar/envelope.h"

/* Returns false for any other transaction, which has no natural key. */
bool natural_key(const struct network_id *network, const struct envelope *envelope, struct hash *out);

#endif
