/* GET /v1/pool: how the pool stands, in counts. */
#include <stdlib.h>

#include "base/mem.h"
#include "context.h"

struct pool_job {
    struct work work; /* first: the workers give it back */
    struct http_request *http;
};

/* Before the first ledger there is no cursor: null, rather than a lag of 0. */
static json_t *cursor_json(const struct pool_status *pool)
{
    if (pool->cursor_sequence == 0)
        return json_null();
    /* close times may run ahead of the database's clock by a second or two */
    json_int_t lag_s = pool->cursor_lag_s > 0 ? pool->cursor_lag_s : 0;
    return json_pack("{s:I, s:o, s:I}", "sequence", (json_int_t)pool->cursor_sequence, "closeTime",
        json_decimal(pool->cursor_close_time_s), "lagSeconds", lag_s);
}

static json_t *pool_json(const struct pool_status *pool)
{
    return json_pack("{s:{s:I, s:I, s:I, s:I, s:I}, s:I, s:o}", "accounts", "idle", (json_int_t)pool->idle,
        "leased", (json_int_t)pool->leased, "creating", (json_int_t)pool->creating, "retiring",
        (json_int_t)pool->retiring, "quarantined", (json_int_t)pool->quarantined, "oldestLeaseSeconds",
        (json_int_t)pool->oldest_lease_s, "cursor", cursor_json(pool));
}

static void run(struct work *work, struct db *db)
{
    struct pool_job *job = (struct pool_job *)work;
    struct pool_status pool;
    struct detail detail = {0};
    enum err e = db == NULL ? ERR_SHUTTING_DOWN : pool_status(db, &pool, &detail);
    if (e == ERR_OK)
        reply(job->http, 200, pool_json(&pool));
    else
        refuse(job->http, e, &detail);
    free(job);
}

void get_pool(struct http_request *request, void *context)
{
    const struct api *api = context;
    struct pool_job *job = NEW(struct pool_job);
    job->work.run = run;
    job->http = request;
    enum err e = workers_submit(api->workers, &job->work);
    if (e != ERR_OK) {
        refuse(request, e, NULL);
        free(job);
    }
}
