/*
 * How much keyd signs at most: token buckets of signatures and of stroops. Each fills evenly, and never holds
 * more than the amount of its period. So at most twice the amount is used in any one period, and on average
 * the amount. At start the bucket of stroops holds a part of an hour's amount only: whoever can restart keyd
 * gets that part each time.
 */
#pragma once

#include "keys/keyd.h"

#define BUDGET_START_SHARE 12 /* of an hour: five minutes */

struct budget_bucket {
    double capacity, per_us, left;
};

struct budget {
    struct budget_bucket signatures, fees;
    int64_t filled_us; /* clock_us() */
};

/* The bucket of signatures is full; that of stroops holds a twelfth of an hour's amount, or the highest fee
 * that is ever signed when that is more. now_us: clock_us(). */
struct budget budget_of(const struct keyd_budget *limits, int64_t highest_fee_stroops, int64_t now_us);

/* What the bucket has after this time. */
void budget_fill(struct budget_bucket *bucket, int64_t elapsed_us);
/* Stroops that are left now. */
int64_t budget_fees_left(struct budget *budget, int64_t now_us);

/* Takes both amounts or none. ERR_KEYD_BUDGET, with the option that limits it in detail. */
MUST_CHECK enum err budget_take(
    struct budget *budget, int64_t now_us, unsigned signatures, int64_t fee_stroops, struct detail *detail);
