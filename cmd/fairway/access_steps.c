#include "access_steps.h"

#include <stdlib.h>
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

void access_steps_free(struct access_steps *steps)
{
    free(steps->bound_network);
    free(steps->rpc_network);
}

static enum err read_network_row(void *context, struct detail *detail)
{
    struct access_steps *steps = context;
    struct network network CLEANUP(network_free) = {0};
    enum err e = migrate_check(steps->out->db, detail);
    if (e == ERR_OK)
        e = network_read(steps->out->db, &network, detail);
    if (e == ERR_OK && network.passphrase != NULL) {
        free(steps->bound_network);
        steps->bound_network = mem_copy_text(network.passphrase);
    }
    return e;
}

static enum err check_standby(void *context, struct detail *detail)
{
    bool configured = true;
    enum err e =
        server_has_synchronous_standby(((struct access_steps *)context)->out->db, &configured, detail);
    if (e == ERR_OK && !configured)
        log_warn("DATABASE_FAILOVER=synchronous, but no synchronous standby is configured; a failover may "
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

static enum err read_rpc_network(void *context, struct detail *detail)
{
    struct access_steps *steps = context;
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = steps->out->rpc_url, .cancel_fd = -1});
    struct rpc_network network = {0};
    enum err e = rpc_network(rpc, &network, detail);
    if (e == ERR_OK)
        steps->rpc_network = mem_copy_text(network.passphrase);
    rpc_network_free(&network);
    rpc_free(rpc);
    return e;
}

/* Configuration, database and RPC must name the same network. Uses the first of them that names one. */
static enum err agree_on_network(const struct access_steps *steps, struct detail *detail)
{
    const char *configured = config_text(steps->config, "NETWORK_PASSPHRASE"), *served = steps->rpc_network;
    const char *chosen = configured != NULL             ? configured
                         : steps->bound_network != NULL ? steps->bound_network
                                                        : served;
    if (chosen == NULL)
        return detail_set(detail, ERR_CONFIG,
            "NETWORK_PASSPHRASE is not set, the database is not bound to a network, and RPC_URL is not set");
    if (served != NULL && !text_equal(chosen, served))
        return detail_set(
            detail, ERR_CONFIG, "the RPC serves the network \"%.60s\", not \"%.60s\"", served, chosen);
    steps->out->passphrase = mem_copy_text(chosen);
    steps->out->network = network_id_of(chosen);
    return ERR_OK;
}

static enum err load_keyd(struct access_steps *steps, struct detail *detail)
{
    struct pool_access *out = steps->out;
    enum err e = keyd_load(out->keyd, &out->network, out->keys, out->key_count, &steps->current,
        &steps->is_new, &out->distribution, detail);
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
        e = retry_until(read_network_row, steps, steps->deadline_ms, detail);
    if (e == ERR_OK && (steps->needs & NEEDS_DATABASE_URL) != 0 &&
        !text_equal(out->database_url, out->database_direct_url))
        e = retry_until(compare_databases, steps, steps->deadline_ms, detail);
    if (e == ERR_OK && out->synchronous_failover)
        e = retry_until(check_standby, steps, steps->deadline_ms, detail);
    if (out->rpc_url != NULL && rpc_is_plain(out->rpc_url))
        log_warn(
            "RPC_URL has an http:// address of another host; use https, or anyone on the network path can"
            " change the responses",
            NULL);
    if (e == ERR_OK && out->rpc_url != NULL)
        e = retry_until(read_rpc_network, steps, steps->deadline_ms, detail);
    return e == ERR_OK ? agree_on_network(steps, detail) : e;
}

enum err access_steps_load_keys(struct access_steps *steps, struct detail *detail)
{
    return retry_until(try_load_keys, steps, steps->deadline_ms, detail);
}
