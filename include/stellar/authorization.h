/*
 * What the authorization entries of a contract call say about signatures and time (CAP-46-11, CAP-71). No
 * signature is verified: the payload that an account signs is the account's to define.
 */
#ifndef FAIRWAY_STELLAR_AUTHORIZATION_H
#define FAIRWAY_STELLAR_AUTHORIZATION_H

#include "stellar/envelope.h"

#define AUTHORIZATION_UNSIGNED_MAX 16

struct authorization {
    /* The least signatureExpirationLedger of credentials by address: the last ledger in which all count.
     * UINT32_MAX without any. */
    uint32_t expires_ledger;
    /* Those that nobody has signed: their signature is void, and they have no delegates. */
    uint32_t unsigned_count;
    struct bytes unsigned_addresses[AUTHORIZATION_UNSIGNED_MAX]; /* SCAddress, of the first ones */
};

/* Of all operations of the envelope, which has been decoded. The spans point into it. */
MUST_CHECK enum err authorization_read(const struct envelope *envelope, struct authorization *out);

#define AUTHORIZATION_ADDRESS_SIZE ADDRESS_SIZE
/* Writes G... of an account, also of a muxed one, C... of a contract, or "" of another kind. */
void authorization_address(struct bytes address, char out[static AUTHORIZATION_ADDRESS_SIZE]);

/*
 * The natural key: what a contract call that its authorization entries alone ask for
 * (policy_invokes_for_entries) is, whoever sends it and in whatever transaction: SHA-256 of the network, the
 * host function, and of each entry, in order, the address, the nonce and the root invocation. The network
 * executes it once, because it consumes each nonce. The signatures and when they expire do not count. Returns
 * false for any other transaction, which has none.
 */
bool authorization_natural_key(
    const struct network_id *network, const struct envelope *envelope, struct hash *out);

#endif
