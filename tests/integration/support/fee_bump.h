/* Fee bumps one at a time, for tests of other things. */
#pragma once

#include "pool/fee_bump.h"
#include "stellar/envelope.h"

/* Finds one lease by its hash and its transaction. Returns the item's error or that of the call. */
enum err fee_bump_find_one(struct db *db, const struct hash *lease, const struct public_key *source,
    int64_t sequence, const char *client, struct fee_bump_item *out);
/* Records one fee bump of the lease of this account. */
enum err fee_bump_record_one(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    const struct public_key *account, int64_t fee_stroops);
