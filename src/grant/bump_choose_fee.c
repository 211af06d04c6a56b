/* Which fee a fee bump gets: as asked, the first bid of a submission, or the next one after a bid. Nothing is
 * read here. */
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

/*
 * The first bid of a submission: SUBMIT_RAISES stroops below max_fee_stroops, but at least the least fee. It
 * is the least fee when no max_fee_stroops is given, and when the distribution account could not pay it
 * beside the open bids: a node counts all bids that it has queued against the balance, although the network
 * charges the price of the ledger and not the bid.
 */
static enum err find_first_bid(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail)
{
    int64_t least, most;
    enum err e;
    if ((e = bump_fee(request, request->max_fee_stroops, &most, detail)) != ERR_OK ||
        (e = bump_fee(request, 0, &least, detail)) != ERR_OK)
        return e;
    const int64_t bid = most - SUBMIT_RAISES;
    const bool covered = item->spendable_stroops == FUNDS_NOT_KNOWN ||
                         item->open_bids_stroops + bid <= item->spendable_stroops;
    item->fee_stroops = bid > least && covered ? bid : least;
    return ERR_OK;
}

enum err bump_choose_fee(
    const struct bump_request *request, struct fee_bump_item *item, struct detail *detail)
{
    const struct limits *limits = &request->client_limits;
    const bool raises = request->raised_stroops != 0;
    enum err e = request->submits && !raises
                     ? find_first_bid(request, item, detail)
                     : bump_fee(request, raises ? request->raised_stroops + 1 : request->max_fee_stroops,
                           &item->fee_stroops, detail);
    if (e != ERR_OK)
        return e;
    item->limit =
        limit_of_fee_bump(limits, item->fee_stroops, item->bumps, item->highest_stroops, item->spent_stroops);
    e = limit_refuse(item->limit, limits, detail);
    return e != ERR_OK ? e : funds_check_bump(item->spendable_stroops, item->fee_stroops, detail);
}
