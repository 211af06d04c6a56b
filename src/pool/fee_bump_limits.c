#include "fee_bump_limits.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/* As fairway.record_fee_bumps names them. */
enum limit {
    LIMIT_BUMPS,
    LIMIT_STEP,
    LIMIT_DAY
};
static const char *const names[] = {"feeBumps", "feeBumpStepPercent", "stroopsPerDay"};

static int64_t next_bid_stroops(const struct fee_bump_item *item)
{
    return item->highest_stroops + (item->highest_stroops * item->limits.step_percent + 99) / 100;
}

static enum err refuse(struct fee_bump_item *item, enum limit limit)
{
    item->limit = names[limit];
    switch (limit) {
    case LIMIT_BUMPS:
        return detail_set(&item->detail, ERR_LIMIT_EXCEEDED,
            "feeBumps: the lease has %" PRId64
            " fee bumps already. Submit one of them, or the same bid again.",
            item->bumps);
    case LIMIT_STEP:
        return detail_set(&item->detail, ERR_LIMIT_EXCEEDED,
            "feeBumpStepPercent: the next bid must be at least %" PRId64 " stroops, %" PRIu32
            " %% above the one before.",
            next_bid_stroops(item), item->limits.step_percent);
    case LIMIT_DAY:
        break;
    }
    return detail_set(&item->detail, ERR_LIMIT_EXCEEDED,
        "stroopsPerDay: the fee bumps of this client may cost %" PRId64 " stroops a day.",
        item->limits.day_max_stroops);
}

enum err fee_bump_refused_by(struct fee_bump_item *item, const char *limit)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(limit, names[i]) == 0)
            return refuse(item, (enum limit)i);
    return ERR_OK;
}

enum err fee_bump_check_limits(struct fee_bump_item *item)
{
    const struct fee_bump_limits *limits = &item->limits;
    const int64_t added = item->fee_stroops - item->highest_stroops;
    if (item->bumps > 0 && added == 0)
        return ERR_OK;
    if (limits->bumps > 0 && item->bumps >= limits->bumps)
        return refuse(item, LIMIT_BUMPS);
    if (limits->step_percent > 0 && item->bumps > 0 && item->fee_stroops < next_bid_stroops(item))
        return refuse(item, LIMIT_STEP);
    if (limits->day_max_stroops > 0 && added > 0 && added > limits->day_max_stroops - item->spent_stroops)
        return refuse(item, LIMIT_DAY);
    return ERR_OK;
}
