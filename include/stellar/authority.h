/*
 * Who has signed a leased transaction besides the channel account. A signature that is valid for this
 * network's hash, by a key that counts for an account whose authority the operations need, shows that the
 * user has signed this transaction and for this network. Whether the signatures reach all thresholds is left
 * to the network.
 *
 * Some of these keys are in the transaction: the master keys of its operation sources, and its extra
 * signers. The other signers of the sources are in their account entries.
 */
#pragma once

#include "stellar/envelope.h"

enum authority {
    AUTHORITY_UNSIGNED,        /* there is no signature at all */
    AUTHORITY_CHANNEL_MISSING, /* the source, the channel account, has not signed */
    AUTHORITY_CHANNEL_ONLY,    /* nobody else has signed */
    AUTHORITY_UNKNOWN,         /* others have signed, none with a key that is in the transaction */
    AUTHORITY_PROVED,          /* one of them with such a key, or the user's consent is in the transaction */
};

/* How many signatures of one transaction are verified. Almost always one key has the hint of a signature, so
 * that each is verified once. */
#define AUTHORITY_VERIFICATIONS_MAX (SIGNATURES_MAX + 4)

/* Of a contract call without a source, the user has signed the authorization entries: AUTHORITY_PROVED when
 * the channel account has signed, unless there are extra signers.
 *
 * hash is the transaction's. Of an extra signer, a signature of its payload or the preimage of its hash
 * counts. With AUTHORITY_PROVED the channel account's signature has not been examined. */
enum authority authority_of(const struct envelope *envelope, const struct hash *hash);

/* The accounts of the operations' sources, each once. Returns their count. */
size_t authority_sources(const struct envelope *envelope, struct public_key out[static OPERATIONS_MAX]);

/* Whether a signer in this LedgerEntryData of an account, one of the sources, has signed. *verifications is
 * AUTHORITY_VERIFICATIONS_MAX before the first of the accounts; each signature that is verified counts. */
bool authority_proved_by(const struct envelope *envelope, const struct hash *hash, struct bytes account_entry,
    unsigned *verifications);
