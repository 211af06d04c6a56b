/* The reads of a witness: of accounts, and of the list of frozen keys. */
#ifndef FAIRWAY_INGEST_WITNESS_READS_H
#define FAIRWAY_INGEST_WITNESS_READS_H

#include "feed.h"

/* Members accounts and frozen of witness_feed; source is the struct witness. */
MUST_CHECK enum err witness_accounts(void *source, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail);
MUST_CHECK enum err witness_frozen(
    void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);

#endif
