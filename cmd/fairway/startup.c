#include "startup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "db/migrate.h"
#include "db/server.h"
#include "ingest/network.h"
#include "keys/secrets.h"
#include "options_check.h"
#include "patience.h"
#include "pool/master_keys.h"
#include "rpc/rpc.h"

/* KEYD, or the program beside this one. */
static char *keyd_path(const struct config *config)
{
    char self[PATH_MAX] = "";
    const char *given = config_text(config, "KEYD");
    if (given != NULL)
        return mem_copy_text(given);
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = len > 0 ? strrchr(self, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return mem_format("%s/fairway-keyd", self);
}

static enum err start_keyd(
    const struct config *config, enum keyd_mode mode, struct startup *out, struct detail *detail)
{
    AUTO_FREE char *program = keyd_path(config);
    struct keyd_secrets secrets;
    enum err e = secrets_open(&secrets, detail);
    return e != ERR_OK ? e : keyd_start(program, mode, &secrets, &out->keyd, detail);
}

static enum err read_options(
    const struct config *config, bool needs_rpc, struct startup *out, struct detail *detail)
{
    const char *distribution = config_text(config, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY");
    const char *direct = config_text(config, "DATABASE_DIRECT_URL");
    out->database_url = config_text(config, "DATABASE_URL");
    out->database_direct_url = direct != NULL ? direct : out->database_url;
    out->rpc_url = config_text(config, "RPC_URL");
    const char *failover = config_text(config, "DATABASE_FAILOVER");
    out->synchronous_failover = text_equal(failover, "synchronous");
    if (!out->synchronous_failover && !text_equal(failover, "asynchronous"))
        return detail_set(detail, ERR_CONFIG, "DATABASE_FAILOVER is neither asynchronous nor synchronous");
    if (out->database_url == NULL)
        return detail_set(detail, ERR_CONFIG, "DATABASE_URL is not set");
    if (needs_rpc && out->rpc_url == NULL)
        return detail_set(detail, ERR_CONFIG, "RPC_URL is not set");
    if (distribution != NULL && address_decode(distribution, &out->distribution) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY is not an account (G...)");
    enum err e = options_check(config, needs_rpc, detail);
    if (e != ERR_OK)
        return e;
    const int64_t max_fee = (int64_t)config_number(config, "MAX_FEE");
    const int64_t max_resource_fee = (int64_t)config_number(config, "MAX_RESOURCE_FEE");
    const uint32_t base_fee = (uint32_t)config_number(config, "BASE_FEE");
    out->limits = (struct keyd_settings){
        .limits = {.base_fee_stroops = base_fee,
            .max_resource_fee_stroops = max_resource_fee,
            .bump_base_fee_stroops = (int64_t)config_number(config, "FEE_BUMP_BASE_FEE"),
            .max_bump_fee_stroops = max_fee},
        .max_lease_fee_stroops = (int64_t)base_fee * OPERATIONS_MAX + max_resource_fee,
        .max_bump_fee_stroops = max_fee + max_resource_fee};
    out->funds = (struct funds_limits){.payment_stroops = 2 * out->limits.limits.bump_base_fee_stroops,
        .low_payments = (int64_t)config_number(config, "LOW_BALANCE_PAYMENTS"),
        .min_payments = (int64_t)config_number(config, "MIN_BALANCE_PAYMENTS")};
    return ERR_OK;
}

/* A start on its way. Each step may run more than once: what an earlier try has done is found or done again.
 */
struct starting {
    const struct config *config;
    struct startup *out;
    int64_t deadline_ms;
    bool grants;                /* this command uses DATABASE_URL beside DATABASE_DIRECT_URL */
    char *bound;                /* the network that the database is bound to; NULL: none yet */
    char *asked;                /* the network that the RPC serves; NULL: no RPC_URL */
    struct public_key expected; /* the distribution account as configured */
    bool ring_loaded;           /* keyd takes its keys once */
    bool is_new;                /* the current master key was in no row then */
    struct master_key_row current;
};

static void starting_free(struct starting *starting)
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
            return detail_set(detail, ERR_TRY_AGAIN,
                "another process stored master key %s while this one was starting: start again",
                rows[i].key_id);
    }
    return ERR_OK;
}

/* Key row first: no seed is ever sealed under a key that the database does not know. */
static enum err load_keys(void *context, struct detail *detail)
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

/* Everything after the key process, which is started before any of these sockets is opened. */
static enum err connect_all(struct starting *starting, struct detail *detail)
{
    struct startup *out = starting->out;
    out->db = db_new(
        &(struct db_settings){.url = out->database_direct_url, .kind = DB_DIRECT, .name = "fairway start"});
    enum err e = patiently(look_at_database, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && starting->grants && !text_equal(out->database_url, out->database_direct_url))
        e = patiently(compare_databases, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && out->synchronous_failover)
        e = patiently(look_for_standby, starting, starting->deadline_ms, detail);
    if (e == ERR_OK && out->rpc_url != NULL)
        e = patiently(ask_rpc, starting, starting->deadline_ms, detail);
    return e == ERR_OK ? agree_on_network(starting, detail) : e;
}

static enum err start(struct starting *starting, enum keyd_mode mode, bool needs_rpc, struct detail *detail)
{
    const struct config *config = starting->config;
    enum err e;
    starting->grants = mode == KEYD_SERVE;
    if ((e = read_options(config, needs_rpc, starting->out, detail)) != ERR_OK ||
        (e = start_keyd(config, mode, starting->out, detail)) != ERR_OK ||
        (e = connect_all(starting, detail)) != ERR_OK)
        return e;
    starting->expected = starting->out->distribution;
    return patiently(load_keys, starting, starting->deadline_ms, detail);
}

static enum err start_without_keys(struct starting *starting, struct detail *detail)
{
    enum err e;
    if ((e = read_options(starting->config, true, starting->out, detail)) != ERR_OK ||
        (e = connect_all(starting, detail)) != ERR_OK)
        return e;
    if (starting->bound == NULL)
        return detail_set(detail, ERR_CONFIG,
            "the database is bound to no network yet: run a command that has the keys first "
            "(ensure-accounts)");
    if (!text_equal(starting->bound, starting->out->passphrase))
        return detail_set(
            detail, ERR_CONFIG, "the database is bound to the network \"%.60s\"", starting->bound);
    return ERR_OK;
}

static struct starting starting_new(const struct config *config, struct startup *out)
{
    *out = (struct startup){0};
    return (struct starting){.config = config,
        .out = out,
        .deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000};
}

int startup(const struct config *config, enum keyd_mode mode, bool needs_rpc, struct startup *out)
{
    struct detail detail = {0};
    struct starting starting CLEANUP(starting_free) = starting_new(config, out);
    enum err e = start(&starting, mode, needs_rpc, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

int startup_without_keys(const struct config *config, struct startup *out)
{
    struct detail detail = {0};
    struct starting starting CLEANUP(starting_free) = starting_new(config, out);
    enum err e = start_without_keys(&starting, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

void startup_end(struct startup *startup)
{
    keyd_stop(startup->keyd);
    db_free(startup->db);
    free(startup->passphrase);
}
