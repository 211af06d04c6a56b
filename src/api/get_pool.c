/* GET /v1/pool: how the pool stands, in counts. */
#include "pool/pool_counts.h"
#include "db_endpoint.h"

/* Before the first ledger there is no cursor: null, rather than a lag of 0. */
static json_t *cursor_json(const struct pool_counts *pool)
{
    if (pool->cursor_sequence == 0)
        return json_null();
    /* close times may run ahead of the database's clock by a second or two */
    json_int_t lag_s = pool->cursor_lag_s > 0 ? pool->cursor_lag_s : 0;
    return json_pack("{s:I, s:o, s:I}", "sequence", (json_int_t)pool->cursor_sequence, "closeTime",
        json_decimal(pool->cursor_close_time_s), "lagSeconds", lag_s);
}

static json_t *pool_json(const struct pool_counts *pool)
{
    return json_pack("{s:{s:I, s:I, s:I, s:I, s:I}, s:I, s:o}", "accounts", "idle", (json_int_t)pool->idle,
        "leased", (json_int_t)pool->leased, "creating", (json_int_t)pool->creating, "retiring",
        (json_int_t)pool->retiring, "quarantined", (json_int_t)pool->quarantined, "oldestLeaseSeconds",
        (json_int_t)pool->oldest_lease_s, "cursor", cursor_json(pool));
}

static enum err ask(struct db_query *question, struct db *db, struct answer *answer, struct detail *detail)
{
    (void)question;
    struct pool_counts pool;
    enum err e = pool_counts_read(db, &pool, detail);
    if (e == ERR_OK)
        answer->body = pool_json(&pool);
    return e;
}

void get_pool(struct http_request *request, void *api)
{
    static const struct db_endpoint kind = {
        .answer_ms = DB_ENDPOINT_READ_MS, .size = sizeof(struct db_query), .ask = ask};
    db_endpoint_begin(request, api, &kind);
}
