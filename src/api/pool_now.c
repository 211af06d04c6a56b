/* Asks what grants ask, in their order. Whether an account is idle is no part of it: requests wait for one.
 */
#include "pool_now.h"

#include <stdatomic.h>

uint32_t pool_now_ledger(const struct api_settings *settings)
{
    return settings->seen_ledger == NULL ? 0 : atomic_load(settings->seen_ledger);
}

/* A service that started while the RPC was unavailable. */
enum err pool_now_check_network(const struct api_settings *settings, struct detail *detail)
{
    if (settings->network_checked == NULL || settings->network_checked(settings->ingest_context))
        return ERR_OK;
    return detail_set(
        detail, ERR_GRANTS_SUSPENDED, "Stellar RPC has not answered since the start of this replica");
}

static enum err refusal(
    const struct api_settings *settings, const struct pool_counts *pool, uint32_t seen, struct detail *why)
{
    const int64_t spendable = pool->funds.known ? pool->funds.spendable_stroops : FUNDS_NOT_KNOWN;
    enum err e = pool_now_check_network(settings, why);
    if (e == ERR_OK)
        e = grants_check(&pool->grants, settings->ledger_ms, seen, why);
    return e == ERR_OK ? funds_check_lease(spendable, &settings->funds, why) : e;
}

enum err pool_now_read(struct db *db, const struct api_settings *settings, bool counted, struct pool_now *out,
    struct detail *detail)
{
    const uint32_t seen = pool_now_ledger(settings);
    *out = (struct pool_now){0};
    enum err e =
        counted ? pool_counts_read(db, &out->pool, detail) : pool_status_read(db, &out->pool, detail);
    if (e == ERR_OK)
        out->refusal = refusal(settings, &out->pool, seen, &out->why);
    return e;
}

void api_write_accounts(struct json_write *out, const struct pool_counts *pool)
{
    json_write_open(out, "accounts", '{');
    json_write_number(out, "idle", pool->idle);
    json_write_number(out, "leased", pool->leased);
    json_write_number(out, "creating", pool->creating);
    json_write_number(out, "retiring", pool->retiring);
    json_write_number(out, "quarantined", pool->quarantined);
    json_write_close(out, '}');
}
