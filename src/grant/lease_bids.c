/* The bids of new leases, by the rule of every submission, which bump_choose_fee.c has. */
#include "lease_bids.h"

#include <string.h>

#include "grant/bump.h"
#include "pool/submissions.h"

static const char sql_read[] =
    "SELECT n.ordinal, CASE WHEN s.day >= (now() AT TIME ZONE 'UTC')::date THEN s.stroops ELSE 0 END,"
    " " SUBMISSIONS_PRICE " FROM unnest($1::text[], $2::int8[]) WITH ORDINALITY n (client, lane, ordinal)"
    " LEFT JOIN LATERAL fairway.newest_fees(n.client) s ON true";

void lease_bids_init(struct lease_bids *bids, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bids->clients[i] = grants[i]->request->client;
        bids->lanes[i] = lane_of(&grants[i]->request->envelope) + 1;
        bids->wanted |= grants[i]->request->submits;
    }
    bids->count = count;
    bids->params[0] = DB_TEXTS(bids->clients, count);
    bids->params[1] = DB_I64S(bids->lanes, count);
}

struct db_statement lease_bids_statement(const struct lease_bids *bids)
{
    return bids->wanted ? (struct db_statement){sql_read, bids->params, ARRAY_LEN(bids->params)}
                        : (struct db_statement){0};
}

void lease_bids_read(struct lease_bids *bids, const struct db_rows *rows)
{
    for (size_t row = 0; row < db_count_at_most(rows, bids->count); row++) {
        const size_t i = db_ordinal(rows, row, 0, bids->count);
        bids->spent[i] = db_i64(rows, row, 1);
        bids->prices[i] = db_i64(rows, row, 2);
    }
}

enum err lease_bids_choose(struct lease_bids *bids, size_t i, struct grant *grant,
    const struct policy_limits *limits, uint32_t inner_fee_stroops, int64_t spendable_stroops,
    struct detail *detail)
{
    const struct lease_request *request = grant->request;
    struct bump_request bump = {.inner = request->envelope,
        .limits = limits,
        .max_fee_stroops = request->max_fee_stroops,
        .submits = true};
    struct fee_bump_item item = {.limits = request->limits,
        .spendable_stroops = spendable_stroops,
        .spent_stroops = bids->spent[i],
        .price_stroops = bids->prices[i]};
    bump.inner.fee_stroops = inner_fee_stroops;
    enum err e = bump_choose_fee(&bump, &item, detail);
    grant->lease.bid_stroops = item.fee_stroops;
    grant->lease.max_fee_stroops = item.max_fee_stroops;
    grant->limit = item.limit;
    return e;
}

void lease_bids_take(struct lease_bids *bids, size_t i, int64_t bid_stroops)
{
    for (size_t k = 0; k < bids->count; k++)
        if (strcmp(bids->clients[k], bids->clients[i]) == 0)
            bids->spent[k] += bid_stroops;
}
