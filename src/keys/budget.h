/*
 * How much keyd signs at most: token buckets of signatures and of stroops. Each is full at start, fills
 * evenly, and never holds more than the amount of its period. So a period has at most twice its amount, and a
 * long time that amount on average.
 */
#ifndef FAIRWAY_KEYS_BUDGET_H
#define FAIRWAY_KEYS_BUDGET_H

#include "keys/keyd.h"

struct budget_bucket {
    double capacity, per_us, left;
};

struct budget {
    struct budget_bucket signatures, fees;
    int64_t filled_us; /* clock_us() */
};

/* Both buckets are full. now_us: clock_us(). */
struct budget budget_of(const struct keyd_budget *limits, int64_t now_us);

/* Takes both amounts or none. ERR_KEYD_BUDGET, with the option that limits it in detail. */
MUST_CHECK enum err budget_take(
    struct budget *budget, int64_t now_us, unsigned signatures, int64_t fee_stroops, struct detail *detail);

#endif
