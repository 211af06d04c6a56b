/* The rule of bids: the first, when another one follows, and which. Nothing is read or signed here. */
#include "grant/bid_rule.h"

/* A node replaces what it has queued by a bid of so many times its fee for each operation, and asks for that.
 */
#define REPLACES 10
#define PRICE_MAX (INT64_MAX >> 10) /* far above any cap, and no sum overflows */

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* In a surge one stroop an operation more than the last ledger's price, at which it had no room for all. */
static int64_t wanted_now(const struct bid_terms *terms)
{
    const int64_t price = least_of(terms->price_stroops, PRICE_MAX);
    return price == 0
               ? terms->least_stroops
               : most_of(terms->least_stroops, (price + 1) * terms->operations + terms->resource_stroops);
}

int64_t bid_first(const struct bid_terms *terms)
{
    return least_of(wanted_now(terms), terms->cap_stroops);
}

static bool has_fee(struct bytes fees, int64_t fee_stroops)
{
    for (size_t at = 0; at + 8 <= fees.len; at += 8)
        if ((int64_t)be64_get(fees.data + at) == fee_stroops)
            return true;
    return false;
}

/*
 * Never a multiple of the last bid: where our own bids alone fill the ledgers, that would double the price
 * each time. When the cap has been bid, a stroop less each time, whose hash is another, and then the cap
 * again, which no node bans any more.
 */
int64_t bid_raise(const struct bid_terms *terms, const struct bid_history *history)
{
    const int64_t higher = most_of(wanted_now(terms), history->highest_stroops + 1),
                  bid = most_of(history->asked_stroops, higher), cap = terms->cap_stroops,
                  lowest = most_of(terms->floor_stroops, cap - BID_CYCLE), last = history->last_stroops;
    if (bid <= cap)
        return bid;
    return history->highest_stroops >= cap && last > lowest && last <= cap ? last - 1 : cap;
}

/* A node that still has an earlier bid of the lease asks for a multiple of that. */
bool bid_is_lost(int64_t ledgers, int64_t asked_stroops, int64_t resource_stroops, struct bytes earlier)
{
    const int64_t asked = asked_stroops - resource_stroops;
    return ledgers >= BID_LEDGERS ||
           (asked_stroops != 0 &&
               (asked % REPLACES != 0 || !has_fee(earlier, asked / REPLACES + resource_stroops)));
}
