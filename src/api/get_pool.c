/* GET /v1/pool: the pool in counts, the cursor, and whether leases are granted. */
#include "db_endpoint.h"
#include "api/judge.h"

/* 100,000 accounts are counted in about 0.1 s here. So they are counted once a second at most. */
#define ACCOUNTS_A_MS 100

/* null before the first ledger: a lag of 0 would be wrong. */
static void write_cursor(struct json_write *out, const struct pool_counts *pool)
{
    if (pool->cursor_sequence == 0) {
        json_write_null(out, "cursor");
        return;
    }
    json_write_open(out, "cursor", '{');
    json_write_number(out, "sequence", pool->cursor_sequence);
    json_write_decimal(out, "closeTime", pool->cursor_close_time_s);
    /* Close times may be a second or two ahead of the database's clock. */
    json_write_number(out, "lagSeconds", pool->cursor_lag_s > 0 ? pool->cursor_lag_s : 0);
    json_write_close(out, '}');
}

/* A reason of the cursor row is written as it is: the end of a hold has a member of its own. The balance, and
 * what the database says, are for operators. */
static void write_grants(struct json_write *out, const struct judge_report *now)
{
    const struct grants_state *grants = &now->pool.grants;
    const char *reason = now->refusal != ERR_GRANTS_SUSPENDED ? err_text(now->refusal)
                         : grants->reason[0] != '\0'          ? grants->reason
                                                              : now->why.text;
    json_write_open(out, "grants", '{');
    json_write_bool(out, "allowed", now->refusal == ERR_OK);
    if (now->refusal != ERR_OK)
        json_write_text(out, "reason", reason);
    if (grants->held_until_s > 0)
        json_write_decimal(out, "onHoldUntil", grants->held_until_s);
    json_write_close(out, '}');
}

static char *pool_text(const struct judge_report *now)
{
    const struct pool_counts *pool = &now->pool;
    struct json_write out = {0};
    json_write_begin(&out, 512);
    api_write_accounts(&out, pool);
    json_write_number(&out, "oldestLeaseSeconds", pool->oldest_lease_s);
    write_cursor(&out, pool);
    write_grants(&out, now);
    return json_write_end(&out);
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    struct judge_report now;
    const struct pool_counts *pool = &now.pool;
    judge(db, query->settings, true, &now);
    if (now.checks[CHECK_DATABASE].level == CHECK_FAILS)
        return detail_set(detail, now.refusal, "%s", now.why.text);
    reply->text = pool_text(&now);
    const int64_t accounts = pool->active + pool->creating + pool->retiring + pool->quarantined;
    last_report_set(&query->api->last_pool, reply->status, reply->text, accounts / ACCOUNTS_A_MS);
    return ERR_OK;
}

void api_get_pool(struct http_request *request, void *api)
{
    db_endpoint_report(request, api, run, &((struct api *)api)->last_pool);
}
