/* GET /v1/pool: the pool in counts, the cursor, and whether leases are granted. */
#include "db_endpoint.h"
#include "pool/pool_counts.h"

/* null before the first ledger: a lag of 0 would be wrong. */
static json_t *cursor_json(const struct pool_counts *pool)
{
    if (pool->cursor_sequence == 0)
        return json_null();
    /* Close times may be a second or two ahead of the database's clock. */
    json_int_t lag_s = pool->cursor_lag_s > 0 ? pool->cursor_lag_s : 0;
    return json_pack("{s:I, s:o, s:I}", "sequence", (json_int_t)pool->cursor_sequence, "closeTime",
        api_json_decimal(pool->cursor_close_time_s), "lagSeconds", lag_s);
}

/* What the cursor row says. Whether this replica can grant now also depends on clocks; /readyz reports that.
 */
static json_t *grants_json(const struct pool_counts *pool)
{
    const char *reason = pool->grants_reason[0] != '\0' ? pool->grants_reason
                         : pool->cursor_sequence == 0   ? "no ledger has been ingested yet"
                                                        : "the database was restored or failed over";
    json_t *object = json_pack("{s:b}", "allowed", pool->grants_allowed);
    if (!pool->grants_allowed)
        json_object_set_new(object, "reason", json_string(reason));
    if (pool->held_until_s > 0)
        json_object_set_new(object, "onHoldUntil", api_json_decimal(pool->held_until_s));
    return object;
}

static json_t *pool_json(const struct pool_counts *pool)
{
    return json_pack("{s:{s:I, s:I, s:I, s:I, s:I}, s:I, s:o, s:o}", "accounts", "idle",
        (json_int_t)pool->idle, "leased", (json_int_t)pool->leased, "creating", (json_int_t)pool->creating,
        "retiring", (json_int_t)pool->retiring, "quarantined", (json_int_t)pool->quarantined,
        "oldestLeaseSeconds", (json_int_t)pool->oldest_lease_s, "cursor", cursor_json(pool), "grants",
        grants_json(pool));
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    (void)query;
    struct pool_counts pool;
    enum err e = pool_counts_read(db, &pool, detail);
    if (e == ERR_OK)
        reply->body = pool_json(&pool);
    last_report_set(
        &query->api->last_pool, reply->status, e == ERR_OK ? json_dumps(reply->body, JSON_COMPACT) : NULL);
    return e;
}

void api_get_pool(struct http_request *request, void *api)
{
    static const struct db_endpoint endpoint = {.query_size = sizeof(struct db_query), .run = run};
    db_endpoint_report(request, api, &endpoint, &((struct api *)api)->last_pool);
}
