/*
 * Shares of the listener's connections. A request that may wait for seconds keeps its connection while it
 * waits, so requests of each kind may have only a share of the connections at the same time: those with
 * ?wait= a half, others for a lease five eighths, both together three quarters. A request above its share is
 * refused at once. The last quarter is always left for reads and fee bumps.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"

enum connection_share {
    SHARE_WAIT, /* ?wait= */
    SHARE_LEASE /* without it: what leases an account, transactions and submissions of a call */
};

struct connection_shares {
    unsigned connections; /* of the listener */
    atomic_uint taken[2];
};

/* ERR_OVERLOADED: the share is used up. From any thread. */
MUST_CHECK enum err connection_shares_take(struct connection_shares *shares, enum connection_share share);
/* Call it before the reply, so that a client that sends its next request at once finds the place free. */
void connection_shares_give(struct connection_shares *shares, enum connection_share share);
