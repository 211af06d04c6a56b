/* The numbers of all advisory locks, and their names. Nothing here takes one. */
#include "pool/lock_numbers.h"

#include "base/bytes.h"
#include "db/migrate.h"

struct lock_numbers lock_numbers_of(const struct network_id *network)
{
    return (struct lock_numbers){
        .leader = (int64_t)be64_get(network->bytes),
        .ledger = (int64_t)be64_get(network->bytes + 8),
        .provisioning = (int64_t)be64_get(network->bytes + 16),
    };
}

size_t lock_numbers_names(const struct network_id *network, struct lock_name out[static LOCK_NAMES_MAX])
{
    size_t count = 0;
    out[count++] = (struct lock_name){.name = "grants", .text = LOCK_TEXT_GRANTS};
    out[count++] = (struct lock_name){.name = "master keys", .text = LOCK_TEXT_MASTER_KEYS};
    out[count++] = (struct lock_name){.name = "housekeeping", .text = LOCK_TEXT_HOUSEKEEPING};
    out[count++] = (struct lock_name){.name = "migrations", .text = MIGRATE_LOCK_TEXT};
    if (network == NULL)
        return count;
    const struct lock_numbers numbers = lock_numbers_of(network);
    out[count++] = (struct lock_name){.name = "ingestion leader", .number = numbers.leader};
    out[count++] = (struct lock_name){.name = "ledger transaction", .number = numbers.ledger};
    out[count++] = (struct lock_name){.name = "provisioning", .number = numbers.provisioning};
    return count;
}
