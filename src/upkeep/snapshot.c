/* What a feed returns, as evidence. Reads nothing. */
#include "upkeep/snapshot.h"

struct account_snapshot snapshot_of(
    const struct public_key *key, const struct rpc_account *answer, uint32_t ledger)
{
    return (struct account_snapshot){.account = {.key = *key,
                                         .removed = !answer->found,
                                         .sequence = answer->sequence,
                                         .own_authority = answer->own_authority,
                                         .balance_stroops = answer->balance_stroops,
                                         .reserves = answer->reserves,
                                         .selling_stroops = answer->selling_stroops},
        .ledger = ledger};
}
