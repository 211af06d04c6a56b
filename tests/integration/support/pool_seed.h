/*
 * Fills a pool without a network: idle accounts whose seeds a real key process sealed, as of a first ledger.
 * Does not use the test framework, because benchmarks use it too.
 */
#pragma once

#include "db/db.h"
#include "keys/keyd.h"

#define POOL_SEED_LEDGER 1000
/* The sequence number of every account, as of that ledger. */
#define POOL_SEED_SEQUENCE ((int64_t)POOL_SEED_LEDGER << 32)

/* Binds a migrated, empty database to its network and inserts the first ledger, which closes now. */
MUST_CHECK enum err pool_seed_network(
    struct db *db, const char *passphrase, const struct public_key *distribution, struct detail *detail);

/* Adds count idle accounts in slots from first_slot on. provision: KEYD_PROVISION, loaded with a key file.
 * out (may be NULL) has room for count. */
MUST_CHECK enum err pool_seed_accounts(struct db *db, struct keyd *provision, int32_t first_slot,
    size_t count, struct public_key out[], struct detail *detail);
