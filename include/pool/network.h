/*
 * One database serves one network, with one distribution account. The first process that starts binds it;
 * all later ones must agree, because account keys, sequence numbers and signatures of one network are
 * meaningless on another.
 */
#pragma once

#include "db/db.h"
#include "stellar/ids.h"

struct network {
    char *passphrase; /* network_free frees it; NULL: the database is not bound yet */
    struct public_key distribution;
};
MUST_CHECK enum err network_read(struct db *db, struct network *out, struct detail *detail);
void network_free(struct network *network);
/* Of the last committed ledger; 0: none. */
MUST_CHECK enum err network_read_protocol(struct db *db, int32_t *protocol, struct detail *detail);

/* Binds the database, or checks that it is bound to the same network and account. ERR_CONFIG if not: detail
 * names both and says what to do. */
MUST_CHECK enum err network_bind(
    struct db *db, const char *passphrase, const struct public_key *distribution, struct detail *detail);
