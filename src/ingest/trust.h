/*
 * Whether a ledger is signed by a validator that the operator trusts (TRUSTED_VALIDATORS). The signature of a
 * ledger binds its transaction set and close time, and through the set all ledgers before. Results are bound
 * by the next ledger's.
 */
#ifndef FAIRWAY_INGEST_TRUST_H
#define FAIRWAY_INGEST_TRUST_H

#include "base/watched_file.h"
#include "rpc/rpc.h"
#include "stellar/ledger.h"
#include "stellar/validators.h"

struct trust {
    struct watched_file file;
    struct validators validators;
};

/* Reads the file, if there is one (path is not NULL). ERR_CONFIG. The caller frees *out, also after an error.
 */
MUST_CHECK enum err trust_open(const char *path, struct trust *out, struct detail *detail);
void trust_free(struct trust *trust);

/*
 * Checks that a trusted validator has signed the ledger, and that its set names the ledger before. Reads the
 * file again if it has changed; one that cannot be read leaves the validators as they are. received is the
 * answer that has the ledger, followed by the ledgers after it: together count.
 *
 * ERR_LEDGER_MISMATCH: detail names the RPC and the node. ERR_LEDGER_AHEAD: the signature of a ledger whose
 * set was dropped (CAP-83) does not bind it; the next ledger that has a set does, and is not there yet.
 */
MUST_CHECK enum err trust_check(struct trust *trust, const struct network_id *network,
    const struct ledger *ledger, const struct rpc_ledger received[], size_t count, struct detail *detail);

#endif
