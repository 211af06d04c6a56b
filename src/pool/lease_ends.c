/* Keeps the leases that a ledger ended, so that they are found by their hashes. It reads and writes nothing.
 */
#include "pool/lease_ends.h"

#include <stdlib.h>

void lease_ends_free(struct lease_ends *ends)
{
    free(ends->items);
    *ends = (struct lease_ends){0};
}

void lease_ends_sort(struct lease_ends *ends)
{
    if (ends->count > 0)
        qsort(ends->items, ends->count, sizeof ends->items[0], hash_compare);
}

const struct lease_end *lease_ends_find(const struct lease_ends *ends, const struct hash *hash)
{
    return ends->count == 0 ? NULL
                            : bsearch(hash, ends->items, ends->count, sizeof ends->items[0], hash_compare);
}
