/* Token buckets of what keyd signs. No clock is read here, and nothing of a transaction. */
#include "budget.h"

#define SECOND_US 1e6
#define HOUR_US (3600 * SECOND_US)

static struct budget_bucket bucket_of(double capacity, double period_us, double left)
{
    return (struct budget_bucket){capacity, capacity / period_us, left < capacity ? left : capacity};
}

struct budget budget_of(const struct keyd_budget *limits, int64_t highest_fee_stroops, int64_t now_us)
{
    const double second = limits->signatures_per_second, hour = (double)limits->fee_stroops_per_hour,
                 start = hour / BUDGET_START_SHARE, highest = (double)highest_fee_stroops;
    return (struct budget){bucket_of(second, SECOND_US, second),
        bucket_of(hour, HOUR_US, start < highest ? highest : start), now_us};
}

void budget_fill(struct budget_bucket *bucket, int64_t elapsed_us)
{
    bucket->left += bucket->per_us * (double)elapsed_us;
    if (bucket->left > bucket->capacity)
        bucket->left = bucket->capacity;
}

static void fill_both(struct budget *budget, int64_t now_us)
{
    budget_fill(&budget->signatures, now_us - budget->filled_us);
    budget_fill(&budget->fees, now_us - budget->filled_us);
    budget->filled_us = now_us;
}

int64_t budget_fees_left(struct budget *budget, int64_t now_us)
{
    fill_both(budget, now_us);
    return (int64_t)budget->fees.left;
}

enum err budget_take(
    struct budget *budget, int64_t now_us, unsigned signatures, int64_t fee_stroops, struct detail *detail)
{
    fill_both(budget, now_us);
    if (signatures > budget->signatures.left)
        return detail_set(detail, ERR_KEYD_BUDGET, "no more signatures are allowed for now: %.0f a second",
            budget->signatures.capacity);
    if ((double)fee_stroops > budget->fees.left)
        return detail_set(detail, ERR_KEYD_BUDGET,
            "the fee exceeds what is left for now: KEYD_MAX_FEES_PER_HOUR=%.0f", budget->fees.capacity);
    budget->signatures.left -= signatures;
    budget->fees.left -= (double)fee_stroops;
    return ERR_OK;
}
