#include "access_steps.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "database.h"
#include "db/migrate.h"
#include "db/server.h"
#include "pool/network.h"
#include "retry.h"
#include "pool/master_keys.h"
#include "rpc/rpc.h"

/* How long one RPC may take to answer at start. */
#define RPC_TIMEOUT_MIN_MS 1000
#define RPC_TIMEOUT_MAX_MS 15000

static enum err check_schema(void *context, struct detail *detail)
{
    return migrate_check(((struct access_steps *)context)->out->db, detail);
}

static enum err check_standby(void *context, struct detail *detail)
{
    bool configured = true;
    enum err e =
        server_has_synchronous_standby(((struct access_steps *)context)->out->db, &configured, detail);
    if (e == ERR_OK && !configured)
        log_warn("DATABASE_FAILOVER=synchronous, but no synchronous standby is configured: a failover may "
                 "lose leases",
            "synchronous_standby_names=empty");
    return e;
}

/* Leases are granted through DATABASE_URL, and ledgers are ingested through the direct one. */
static enum err compare_databases(void *context, struct detail *detail)
{
    const struct pool_access *out = ((struct access_steps *)context)->out;
    struct db *pooled =
        db_new(&(struct db_settings){.url = out->database_url, .kind = DB_POOLED, .name = "fairway start"});
    bool same = false;
    enum err e = server_same_database(out->db, pooled, &same, detail);
    db_free(pooled);
    if (e != ERR_OK)
        return database_refused(e, out->database_url, "DATABASE_URL", detail);
    if (!same)
        return detail_set(detail, ERR_CONFIG,
            "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases: both must name the same one,"
            " the second without a pooler");
    return e;
}

/* Asks one address of RPC_URL, counted from 1, for its network. */
static enum err check_rpc(
    const struct pool_access *out, unsigned address, int timeout_ms, struct detail *detail)
{
    struct rpc *rpc = rpc_new(&(struct rpc_settings){
        .url = out->rpc_url, .only = address, .timeout_ms = timeout_ms, .cancel_fd = -1});
    struct rpc_network network = {0};
    enum err e = rpc_network(rpc, &network, detail);
    if (e == ERR_OK && !text_equal(network.passphrase, out->passphrase)) {
        AUTO_FREE char *origin = rpc_origin(out->rpc_url, address);
        e = detail_set(detail, ERR_CONFIG,
            "%.50s of RPC_URL serves the network \"%.50s\", but NETWORK_PASSPHRASE is \"%.50s\"", origin,
            network.passphrase, out->passphrase);
    }
    rpc_network_free(&network);
    rpc_free(rpc);
    return e;
}

/* Shares the time that is left between the RPCs that have not been asked yet. */
static int rpc_timeout_ms(const struct access_steps *steps, unsigned not_asked)
{
    const int share_ms = clock_left_ms(steps->deadline_ms) / (int)not_asked;
    return share_ms < RPC_TIMEOUT_MIN_MS   ? RPC_TIMEOUT_MIN_MS
           : share_ms > RPC_TIMEOUT_MAX_MS ? RPC_TIMEOUT_MAX_MS
                                           : share_ms;
}

/* One that counted twice would confirm what it says itself. */
static enum err check_addresses(const char *url, unsigned count, struct detail *detail)
{
    if (count == 0)
        return detail_set(detail, ERR_CONFIG, "RPC_URL has no address");
    if (count > RPC_ADDRESSES_MAX)
        return detail_set(
            detail, ERR_CONFIG, "RPC_URL has %u addresses; at most %d are used", count, RPC_ADDRESSES_MAX);
    for (unsigned i = 1; i <= count; i++) {
        AUTO_FREE char *origin = rpc_origin(url, i);
        if (!text_starts(origin, "http://") && !text_starts(origin, "https://"))
            return detail_set(detail, ERR_CONFIG, "address %u of RPC_URL is not an http or https URL", i);
        if (rpc_address_repeats(url, i))
            return detail_set(detail, ERR_CONFIG, "address %u of RPC_URL is the same as an earlier one", i);
    }
    return ERR_OK;
}

/* Every RPC must be of the network. As long as one answers, another that does not is only warned of:
 * ingestion compares what it says later (ingest/witness.h). */
static enum err check_rpcs(void *context, struct detail *detail)
{
    const struct access_steps *steps = context;
    const unsigned count = (unsigned)rpc_address_count(steps->out->rpc_url);
    struct detail failures[RPC_ADDRESSES_MAX] = {0}; /* empty: it has answered */
    bool answered = false;
    enum err failed = check_addresses(steps->out->rpc_url, count, detail);
    if (failed != ERR_OK)
        return failed;
    for (unsigned i = 0; i < count; i++) {
        enum err e = check_rpc(steps->out, i + 1, rpc_timeout_ms(steps, count - i), &failures[i]);
        answered |= e == ERR_OK;
        if (e == ERR_OK)
            continue;
        failed = e;
        *detail = failures[i];
        if (e != ERR_RPC_UNAVAILABLE && e != ERR_RPC_REFUSED)
            return e;
    }
    if (!answered)
        return failed;
    for (unsigned i = 0; i < count; i++)
        if (failures[i].text[0] != '\0')
            log_warn("an RPC of RPC_URL does not answer; its network is not checked", "rpc=%u detail=\"%s\"",
                i + 1, failures[i].text);
    return ERR_OK;
}

static enum err load_keyd(struct access_steps *steps, struct detail *detail)
{
    struct pool_access *out = steps->out;
    enum err e = keyd_load(
        out->keyd, out->keys, out->key_count, &steps->current, &steps->is_new, &out->distribution, detail);
    out->limits.limits.distribution = out->distribution;
    steps->keys_loaded = e == ERR_OK;
    if (e == ERR_OK && steps->is_new)
        out->keys[out->key_count++] = steps->current;
    return e;
}

/* If the session was lost, another process may have stored a key since: keyd must have every key in the
 * table.
 */
static enum err check_key_rows(
    const struct pool_access *out, const struct master_key_row rows[], size_t count, struct detail *detail)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < out->key_count && !text_equal(out->keys[k].key_id, rows[i].key_id))
            k++;
        if (k == out->key_count)
            return detail_set(detail, ERR_NOT_YET,
                "another process stored master key %s during this start: start again", rows[i].key_id);
    }
    return ERR_OK;
}

/* The key's row is stored before the first seed is sealed under it. */
static enum err try_load_keys(void *context, struct detail *detail)
{
    struct access_steps *steps = context;
    struct pool_access *out = steps->out;
    struct master_key_row rows[MASTER_KEY_ROWS_MAX];
    size_t count;
    enum err e = master_keys_lock(out->db, (unsigned)clock_left_ms(steps->deadline_ms) / 1000, detail);
    if (e == ERR_OK)
        e = master_keys_read(out->db, rows, &count, detail);
    if (e == ERR_OK && steps->keys_loaded)
        e = check_key_rows(out, rows, count, detail);
    else if (e == ERR_OK) {
        memcpy(out->keys, rows, count * sizeof rows[0]);
        out->key_count = count;
        e = load_keyd(steps, detail);
    }
    if (e == ERR_OK)
        e = network_bind(out->db, out->passphrase, &out->distribution, detail);
    if (e == ERR_OK && steps->is_new)
        e = master_key_store(out->db, &steps->current, detail);
    return e == ERR_OK ? master_keys_unlock(out->db, detail) : e;
}

enum err access_steps_connect(struct access_steps *steps, struct detail *detail)
{
    struct pool_access *out = steps->out;
    enum err e = database_open(
        steps->config, &(struct db_settings){.name = "fairway start"}, steps->deadline_ms, &out->db, detail);
    if (e == ERR_OK)
        e = retry_until(check_schema, steps, steps->deadline_ms, detail);
    if (e == ERR_OK && !text_equal(out->database_url, out->database_direct_url))
        e = retry_until(compare_databases, steps, steps->deadline_ms, detail);
    if (e == ERR_OK && out->synchronous_failover)
        e = retry_until(check_standby, steps, steps->deadline_ms, detail);
    if (rpc_is_plain(out->rpc_url))
        log_warn(
            "RPC_URL has an http:// address of another host; use https, or anyone on the network path can"
            " change the responses",
            NULL);
    if (e == ERR_OK)
        e = retry_until(check_rpcs, steps, steps->deadline_ms, detail);
    return e;
}

enum err access_steps_load_keys(struct access_steps *steps, struct detail *detail)
{
    return retry_until(try_load_keys, steps, steps->deadline_ms, detail);
}
