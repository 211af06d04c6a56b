/*
 * One database serves one network, for one distribution account. Whoever starts first binds it; everything
 * later must agree, because account keys, sequence numbers and signatures of one network mean nothing on
 * another.
 */
#ifndef FAIRWAY_POOL_NETWORK_H
#define FAIRWAY_POOL_NETWORK_H

#include "db/db.h"
#include "stellar/ids.h"

struct network {
    char *passphrase; /* new memory; NULL: the database is not bound yet */
    struct public_key distribution;
};
MUST_CHECK enum err network_read(struct db *db, struct network *out, struct detail *detail);
void network_free(struct network *network);

/*
 * Binds an unbound database; of a bound one it checks that it is bound to the same. ERR_CONFIG when it is
 * not: detail names both and the way out.
 */
MUST_CHECK enum err network_bind(
    struct db *db, const char *passphrase, const struct public_key *distribution, struct detail *detail);

#endif
