#include "fee_bump.h"

enum err fee_bump_find_one(struct db *db, const struct hash *lease, const struct public_key *source,
    int64_t sequence, const char *client, struct fee_bump_item *out)
{
    *out = (struct fee_bump_item){.lease = *lease, .source = *source, .sequence = sequence, .client = client};
    enum err e = fee_bumps_find(db, &out, 1, NULL);
    return e == ERR_OK ? out->error : e;
}

enum err fee_bump_record_one(struct db *db, const struct hash *fee_bump, const struct hash *lease,
    const struct public_key *account, int64_t fee_stroops)
{
    struct fee_bump_item item = {
        .lease = *lease, .source = *account, .client = "", .hash = *fee_bump, .fee_stroops = fee_stroops};
    enum err e = fee_bumps_record(db, (struct fee_bump_item *[]){&item}, 1, NULL);
    return e == ERR_OK ? item.error : e;
}
