/* Which fee a fee bump gets: as asked, or a bid by bid_rule.c. What bounds it is found here. Nothing is read.
 */
#include "grant/bump.h"

/* The configured maximum limits the bid, so the resource fee, checked when the lease was granted, is added.
 */
int64_t bump_fee_maximum(const struct bump_request *request)
{
    return request->limits->max_bump_fee_stroops + request->inner.resource_fee_stroops;
}

enum err bump_fee(
    const struct bump_request *request, int64_t max_fee_stroops, int64_t *fee_stroops, struct detail *detail)
{
    return policy_bump_fee(&request->inner, request->limits, request->limits->bump_base_fee_stroops,
        max_fee_stroops, bump_fee_maximum(request), fee_stroops, detail);
}

static void lower(int64_t *cap_stroops, int64_t to_stroops)
{
    if (*cap_stroops > to_stroops)
        *cap_stroops = to_stroops;
}

/* The cap of the submission: as asked, else as it is, else fairway's. */
static enum err find_cap(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail)
{
    const int64_t operations = request->inner.operation_count + 1;
    if (request->max_fee_stroops != 0)
        return bump_fee(request, request->max_fee_stroops, &item->max_fee_stroops, detail);
    if (item->max_fee_stroops == 0)
        item->max_fee_stroops = BID_CAP_FACTOR * request->limits->bump_base_fee_stroops * operations +
                                request->inner.resource_fee_stroops;
    lower(&item->max_fee_stroops, bump_fee_maximum(request));
    return ERR_OK;
}

/* The client's limit for a day and the balance bound the bid, but not below the least fee. The cap bounds
 * that one too: FEE_BUMP_BASE_FEE may have been raised since it was found. */
static enum err find_terms(const struct bump_request *request, struct fee_bump_item *item,
    struct bid_terms *terms, struct detail *detail)
{
    const int64_t day = item->limits.most[LIMIT_STROOPS_PER_DAY];
    int64_t most;
    enum err e;
    *terms = (struct bid_terms){.operations = request->inner.operation_count + 1,
        .resource_stroops = request->inner.resource_fee_stroops,
        .price_stroops = item->price_stroops};
    if ((e = find_cap(request, item, detail)) != ERR_OK ||
        (e = bump_fee(request, 0, &terms->least_stroops, detail)) != ERR_OK ||
        (e = policy_bump_fee(&request->inner, request->limits, 0, 0, terms->least_stroops,
             &terms->floor_stroops, detail)) != ERR_OK)
        return e;
    terms->cap_stroops = item->max_fee_stroops;
    lower(&terms->least_stroops, terms->cap_stroops);
    if (day > 0 && !__builtin_add_overflow(day - item->spent_stroops, item->highest_stroops, &most))
        lower(&terms->cap_stroops, most);
    if (item->spendable_stroops != FUNDS_NOT_KNOWN)
        lower(&terms->cap_stroops, item->spendable_stroops);
    if (terms->cap_stroops < terms->least_stroops)
        terms->cap_stroops = terms->least_stroops;
    return ERR_OK;
}

/* A client's repeat gets the bid that is sent, unless that was rejected. */
static enum err find_bid(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail)
{
    struct bid_terms terms;
    const struct bid_history history = {.asked_stroops = request->asked_stroops,
        .highest_stroops = item->highest_stroops,
        .last_stroops = item->bid_stroops};
    enum err e = find_terms(request, item, &terms, detail);
    if (e == ERR_OK)
        item->fee_stroops = request->raises || item->rejected ? bid_raise(&terms, &history)
                            : item->bid_stroops != 0          ? item->bid_stroops
                                                              : bid_first(&terms);
    return e;
}

enum err bump_choose_fee(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail)
{
    enum err e = request->submits ? find_bid(request, item, detail)
                                  : bump_fee(request, request->max_fee_stroops, &item->fee_stroops, detail);
    if (e != ERR_OK || (request->submits && item->fee_stroops == item->bid_stroops)) /* it is sent already */
        return e;
    item->limit = limit_of_fee_bump(
        &item->limits, item->fee_stroops, item->bumps, item->highest_stroops, item->spent_stroops);
    e = limit_refuse(item->limit, &item->limits, detail);
    return e != ERR_OK ? e : funds_check_bump(item->spendable_stroops, item->fee_stroops, detail);
}
