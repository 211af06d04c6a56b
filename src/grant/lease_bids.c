/* Chooses and records the bids of new leases. The rule of the first bid is that of every submission: bump.c
 * has it. */
#include "lease_bids.h"

#include <string.h>

#include "grant/bump.h"
#include "pool/submissions.h"

static const char sql_read[] =
    "SELECT n.ordinal, CASE WHEN s.day >= (now() AT TIME ZONE 'UTC')::date THEN s.stroops ELSE 0 END,"
    " " SUBMISSIONS_OPEN_BIDS " FROM unnest($1::text[]) WITH ORDINALITY n (client, ordinal)"
    " LEFT JOIN LATERAL (SELECT f.day, f.stroops FROM fairway.client_fees f"
    "   WHERE f.client BETWEEN n.client AND n.client ORDER BY f.client DESC LIMIT 1) s ON true";

void lease_bids_init(struct lease_bids *bids, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bids->clients[i] = grants[i]->request->client;
        bids->wanted |= grants[i]->request->submits;
    }
    bids->count = count;
    bids->params[0] = DB_TEXTS(bids->clients, count);
}

struct db_statement lease_bids_statement(const struct lease_bids *bids)
{
    return bids->wanted ? (struct db_statement){sql_read, bids->params, ARRAY_LEN(bids->params)}
                        : (struct db_statement){0};
}

void lease_bids_read(struct lease_bids *bids, const struct db_rows *rows)
{
    for (size_t row = 0; row < db_count(rows); row++) {
        bids->spent[db_i64(rows, row, 0) - 1] = db_i64(rows, row, 1);
        bids->open_stroops = db_i64(rows, row, 2);
    }
}

enum err lease_bids_choose(const struct lease_bids *bids, size_t i, struct grant *grant,
    const struct policy_limits *limits, uint32_t inner_fee_stroops, int64_t spendable_stroops,
    struct detail *detail)
{
    const struct lease_request *request = grant->request;
    struct bump_request bump = {
        .inner = request->envelope, .limits = limits, .max_fee_stroops = request->max_fee_stroops};
    int64_t *const bid = &grant->lease.bid_stroops;
    bump.inner.fee_stroops = inner_fee_stroops;
    enum err e = bump_first_bid(&bump, spendable_stroops, bids->open_stroops, bid, detail);
    if (e != ERR_OK)
        return e;
    grant->limit = limit_of_fee_bump(&request->limits, *bid, 0, 0, bids->spent[i]);
    e = limit_refuse(grant->limit, &request->limits, detail);
    return e != ERR_OK ? e : funds_check_bump(spendable_stroops, *bid, detail);
}

void lease_bids_take(struct lease_bids *bids, size_t i, int64_t bid_stroops)
{
    bids->open_stroops += bid_stroops;
    for (size_t k = 0; k < bids->count; k++)
        if (strcmp(bids->clients[k], bids->clients[i]) == 0)
            bids->spent[k] += bid_stroops;
}

/* ERR_SERIALIZATION: a client has spent since the batch began. It runs again, and refuses what is too much.
 */
static const char sql_record[] = "SELECT fairway.record_lease_bids($1, $2, $3, $4, $5, $6, $7, $8, $9)::text";

void lease_bids_add(
    struct lease_bids_columns *columns, const struct lease *lease, const struct lease_request *request)
{
    const size_t at = columns->count;
    if (lease->bid_stroops == 0)
        return;
    address_encode(&lease->account, columns->address[at]);
    columns->hash[at] = BYTES_OF(lease->bid_hash.bytes);
    columns->lease[at] = BYTES_OF(lease->hash.bytes);
    columns->fee[at] = lease->bid_stroops;
    columns->account[at] = columns->address[at];
    columns->client[at] = request->client;
    columns->stroops_max[at] = request->limits.most[LIMIT_STROOPS_PER_DAY];
    columns->envelope[at] = buf_bytes(&lease->envelope);
    columns->max_fee[at] = request->max_fee_stroops;
    columns->bid_envelope[at] = buf_bytes(&lease->bid);
    columns->count++;
}

struct db_statement lease_bids_record(struct lease_bids_columns *columns)
{
    const size_t count = columns->count;
    if (count == 0)
        return (struct db_statement){0};
    const struct db_param params[] = {DB_BYTEAS(columns->hash, count), DB_BYTEAS(columns->lease, count),
        DB_I64S(columns->fee, count), DB_TEXTS(columns->account, count), DB_TEXTS(columns->client, count),
        DB_I64S(columns->stroops_max, count), DB_BYTEAS(columns->envelope, count),
        DB_I64S(columns->max_fee, count), DB_BYTEAS(columns->bid_envelope, count)};
    memcpy(columns->params, params, sizeof params);
    return (struct db_statement){sql_record, columns->params, ARRAY_LEN(columns->params)};
}
