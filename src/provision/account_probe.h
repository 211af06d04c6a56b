/* What the network and the key process report about one account. */
#ifndef FAIRWAY_PROVISION_ACCOUNT_PROBE_H
#define FAIRWAY_PROVISION_ACCOUNT_PROBE_H

#include "provision/account_admin.h"

struct account_probe {
    uint32_t oldest;    /* no field is older than this ledger */
    uint32_t ledger;    /* as of which the next three fields hold */
    bool found;         /* the network has the account; if not, the next two fields are false and 0 */
    bool own_authority; /* see stellar/ledger.h */
    int64_t sequence;
    bool frozen;
    bool opens; /* the sealed seed opens under a master key that the key process has */
};

/* Asks the RPC, then the key process; no transaction is open meanwhile. ERR_REFUSED: not an account of this
 * pool. */
MUST_CHECK enum err account_probe_take(const struct account_admin *admin, const struct public_key *account,
    struct account_probe *out, struct detail *detail);

#endif
