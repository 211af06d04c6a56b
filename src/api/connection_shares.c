/* Two counters and their bounds. Nobody waits here. */
#include "connection_shares.h"

#include "base/invariant.h"

/* So many eighths of the connections, and at least one. */
static unsigned limit_of(const struct connection_shares *shares, unsigned eighths)
{
    unsigned count = (unsigned)((unsigned long long)shares->connections * eighths / 8);
    return count == 0 ? 1 : count;
}

enum err connection_shares_take(struct connection_shares *shares, enum connection_share share)
{
    static const unsigned eighths[] = {[SHARE_WAIT] = 4, [SHARE_LEASE] = 5};
    const unsigned both = 6;
    unsigned mine = atomic_fetch_add(&shares->taken[share], 1) + 1;
    unsigned others = atomic_load(&shares->taken[share == SHARE_WAIT ? SHARE_LEASE : SHARE_WAIT]);
    if (mine <= limit_of(shares, eighths[share]) && mine + others <= limit_of(shares, both))
        return ERR_OK;
    connection_shares_give(shares, share);
    return ERR_OVERLOADED;
}

void connection_shares_give(struct connection_shares *shares, enum connection_share share)
{
    INVARIANT(atomic_fetch_sub(&shares->taken[share], 1) > 0);
}
