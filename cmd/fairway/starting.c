#include "starting.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "db/migrate.h"
#include "db/server.h"
#include "pool/network.h"
#include "patience.h"
#include "pool/master_keys.h"
#include "rpc/rpc.h"

void starting_free(struct starting *starting)
{
    free(starting->bound);
    free(starting->asked);
}

static enum err look_at_database(void *context, struct detail *detail)
{
    struct starting *starting = context;
    struct network network CLEANUP(network_free) = {0};
    enum err e = migrate_check(starting->out->db, detail);
    if (e == ERR_OK)
        e = network_read(starting->out->db, &network, detail);
    if (e == ERR_OK && network.passphrase != NULL) {
        free(starting->bound);
        starting->bound = mem_copy_text(network.passphrase);
    }
    return e;
}

static enum err look_for_standby(void *context, struct detail *detail)
{
    bool configured = true;
    enum err e = server_has_synchronous_standby(((struct starting *)context)->out->db, &configured, detail);
    if (e == ERR_OK && !configured)
        log_warn("DATABASE_FAILOVER=synchronous, but no synchronous standby is configured: a failover may "
                 "lose leases",
            "synchronous_standby_names=empty");
    return e;
}

/* Leases are granted through one URL, ledgers ingested through the other. */
static enum err compare_databases(void *context, struct detail *detail)
{
    const struct startup *out = ((struct starting *)context)->out;
    struct db *pooled =
        db_new(&(struct db_settings){.url = out->database_url, .kind = DB_POOLED, .name = "fairway start"});
    bool same = false;
    enum err e = server_same_database(out->db, pooled, &same, detail);
    db_free(pooled);
    if (e == ERR_OK && !same)
        return detail_set(detail, ERR_CONFIG,
            "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases: both must name the same one,"
            " the second without a pooler");
    return e;
}

static enum err ask_rpc(void *context, struct detail *detail)
{
    struct starting *starting = context;
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = starting->out->rpc_url, .cancel_fd = -1});
    struct rpc_network network = {0};
    enum err e = rpc_network(rpc, &network, detail);
    if (e == ERR_OK)
        starting->asked = mem_copy_text(network.passphrase);
    rpc_network_free(&network);
    rpc_free(rpc);
    return e;
}

/* Configuration, database and RPC must name one and the same network; what is not given is taken from the
 * others. */
static enum err agree_on_network(const struct starting *starting, struct detail *detail)
{
    const char *configured = config_text(starting->config, "NETWORK_PASSPHRASE"), *asked = starting->asked;
    const char *chosen = configured != NULL ? configured : starting->bound != NULL ? starting->bound : asked;
    if (chosen == NULL)
        return detail_set(
            detail, ERR_CONFIG, "NETWORK_PASSPHRASE is not set, and neither database nor RPC says it");
    if (asked != NULL && !text_equal(chosen, asked))
        return detail_set(
            detail, ERR_CONFIG, "the RPC serves the network \"%.60s\", not \"%.60s\"", asked, chosen);
    starting->out->passphrase = mem_copy_text(chosen);
    starting->out->network = network_id_of(chosen);
    return ERR_OK;
}

static enum err load_ring(struct starting *starting, struct detail *detail)
{
    struct startup *out = starting->out;
    const bool configured = config_text(starting->config, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY") != NULL;
    out->limits.network = out->network;
    out->limits.distribution = configured ? &starting->expected : NULL;
    enum err e = keyd_load(out->keyd, &out->limits, out->keys, out->key_count, &starting->current,
        &starting->is_new, &out->distribution, detail);
    out->limits.distribution = NULL;
    starting->ring_loaded = e == ERR_OK;
    if (e == ERR_OK && starting->is_new)
        out->keys[out->key_count++] = starting->current;
    return e;
}

/* After a lost session, the lock was free for a while: keyd must still have every key that the database
 * names. */
static enum err check_ring(
    const struct startup *out, const struct master_key_row rows[], size_t count, struct detail *detail)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < out->key_count && !text_equal(out->keys[k].key_id, rows[i].key_id))
            k++;
        if (k == out->key_count)
            return detail_set(detail, ERR_NOT_YET,
                "another process stored master key %s while this one was starting: start again",
                rows[i].key_id);
    }
    return ERR_OK;
}

/* Key row first: no seed is ever sealed under a key that the database does not know. */
static enum err try_load_keys(void *context, struct detail *detail)
{
    struct starting *starting = context;
    struct startup *out = starting->out;
    struct master_key_row rows[MASTER_KEY_ROWS_MAX];
    size_t count;
    enum err e = master_keys_lock(out->db, (unsigned)clock_left_ms(starting->deadline_ms) / 1000, detail);
    if (e == ERR_OK)
        e = master_keys_read(out->db, rows, &count, detail);
    if (e == ERR_OK && starting->ring_loaded)
        e = check_ring(out, rows, count, detail);
    else if (e == ERR_OK) {
        memcpy(out->keys, rows, count * sizeof rows[0]);
        out->key_count = count;
        e = load_ring(starting, detail);
    }
    if (e == ERR_OK)
        e = network_bind(out->db, out->passphrase, &out->distribution, detail);
    if (e == ERR_OK && starting->is_new)
        e = master_key_store(out->db, &starting->current, detail);
    return e == ERR_OK ? master_keys_unlock(out->db, detail) : e;
}

enum err starting_connect(struct starting *starting, struct detail *detail)
{
    struct startup *out = starting->out;
    out->db = db_new(
        &(struct db_settings){.url = out->database_direct_url, .kind = DB_DIRECT, .name = "fairway start"});
    enum err e = patiently(look_at_database, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && (starting->needs & NEEDS_DATABASE_URL) != 0 &&
        !text_equal(out->database_url, out->database_direct_url))
        e = patiently(compare_databases, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && out->synchronous_failover)
        e = patiently(look_for_standby, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && out->rpc_url != NULL)
        e = patiently(ask_rpc, starting, starting->deadline_ms, detail);
    return e == ERR_OK ? agree_on_network(starting, detail) : e;
}

enum err starting_load_keys(struct starting *starting, struct detail *detail)
{
    return patiently(try_load_keys, starting, starting->deadline_ms, detail);
}
