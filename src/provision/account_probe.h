/* What the network and the key process say about one account. */
#ifndef FAIRWAY_PROVISION_ACCOUNT_PROBE_H
#define FAIRWAY_PROVISION_ACCOUNT_PROBE_H

#include "provision/account_admin.h"

struct account_probe {
    uint32_t oldest;    /* nothing here is older than this ledger */
    uint32_t ledger;    /* as of which the next three hold */
    bool found;         /* the network has the account; else the next two are nothing */
    bool own_authority; /* see stellar/ledger.h */
    int64_t sequence;
    bool frozen;
    bool opens; /* its sealed seed, under the master keys that the key process has */
};

/* Asks the RPC, then the key process. No transaction is open meanwhile. ERR_REFUSED: not of this pool. */
MUST_CHECK enum err account_probe_take(const struct account_admin *manual, const struct public_key *account,
    struct account_probe *out, struct detail *detail);

#endif
