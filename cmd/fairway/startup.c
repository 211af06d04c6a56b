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
#include "ingest/network.h"
#include "keys/secrets.h"
#include "options_check.h"
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
    return ERR_OK;
}

/* The RPC's word on which network it serves, patiently. */
static enum err ask_network(const char *url, unsigned seconds, char **passphrase, struct detail *detail)
{
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = url, .cancel_fd = -1});
    struct rpc_network network = {0};
    const int64_t deadline_ms = clock_ms() + (int64_t)seconds * 1000;
    enum err e = rpc_network(rpc, &network, detail);
    for (int64_t said_ms = 0; (e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED) && clock_ms() < deadline_ms;
         e = rpc_network(rpc, &network, detail)) {
        if (clock_ms() - said_ms > 5000) {
            log_warn("Stellar RPC is away, trying again", "detail=\"%s\"", detail->text);
            said_ms = clock_ms();
        }
        clock_sleep_ms(500);
    }
    if (e == ERR_OK)
        *passphrase = mem_copy_text(network.passphrase);
    rpc_network_free(&network);
    rpc_free(rpc);
    return e;
}

/* Configuration, database and RPC must name one and the same network; what is not given is taken from the
 * others. */
static enum err agree_on_network(const struct config *config, struct startup *out, struct detail *detail)
{
    const char *configured = config_text(config, "NETWORK_PASSPHRASE");
    AUTO_FREE char *asked = NULL;
    struct network bound CLEANUP(network_free) = {0};
    enum err e = network_read(out->db, &bound, detail);
    if (e == ERR_OK && out->rpc_url != NULL)
        e = ask_network(out->rpc_url, (unsigned)config_number(config, "START_TIMEOUT"), &asked, detail);
    if (e != ERR_OK)
        return e;
    const char *chosen = configured != NULL         ? configured
                         : bound.passphrase != NULL ? bound.passphrase
                                                    : asked;
    if (chosen == NULL)
        return detail_set(
            detail, ERR_CONFIG, "NETWORK_PASSPHRASE is not set, and neither database nor RPC says it");
    if (asked != NULL && !text_equal(chosen, asked))
        return detail_set(
            detail, ERR_CONFIG, "the RPC serves the network \"%.60s\", not \"%.60s\"", asked, chosen);
    out->passphrase = mem_copy_text(chosen);
    out->network = network_id_of(chosen);
    return ERR_OK;
}

/* Key row first: no seed is ever sealed under a key that the database does not know. */
static enum err load_keys(const struct config *config, struct startup *out, struct detail *detail)
{
    struct master_key_row current;
    bool is_new;
    const bool configured = config_text(config, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY") != NULL;
    const struct public_key expected = out->distribution;
    out->limits.network = out->network;
    out->limits.distribution = configured ? &expected : NULL;
    enum err e = master_keys_lock(out->db, (unsigned)config_number(config, "START_TIMEOUT"), detail);
    if (e == ERR_OK)
        e = master_keys_read(out->db, out->keys, &out->key_count, detail);
    if (e == ERR_OK)
        e = keyd_load(out->keyd, &out->limits, out->keys, out->key_count, &current, &is_new,
            &out->distribution, detail);
    out->limits.distribution = NULL;
    if (e == ERR_OK)
        e = network_bind(out->db, out->passphrase, &out->distribution, detail);
    if (e == ERR_OK && is_new) {
        out->keys[out->key_count++] = current;
        e = master_key_store(out->db, &current, detail);
    }
    return e == ERR_OK ? master_keys_unlock(out->db, detail) : e;
}

/* Everything behind the key process, which is started before any of these sockets is opened. */
static enum err connect_all(const struct config *config, struct startup *out, struct detail *detail)
{
    enum err e;
    out->db = db_new(
        &(struct db_settings){.url = out->database_direct_url, .kind = DB_DIRECT, .name = "fairway start"});
    if ((e = db_connect_patiently(out->db, (int)config_number(config, "START_TIMEOUT"), detail)) != ERR_OK ||
        (e = migrate_check(out->db, detail)) != ERR_OK)
        return e;
    return agree_on_network(config, out, detail);
}

static enum err start(const struct config *config, enum keyd_mode mode, bool needs_rpc, struct startup *out,
    struct detail *detail)
{
    enum err e;
    if ((e = read_options(config, needs_rpc, out, detail)) != ERR_OK ||
        (e = start_keyd(config, mode, out, detail)) != ERR_OK ||
        (e = connect_all(config, out, detail)) != ERR_OK)
        return e;
    return load_keys(config, out, detail);
}

static enum err start_without_keys(const struct config *config, struct startup *out, struct detail *detail)
{
    struct network bound CLEANUP(network_free) = {0};
    enum err e;
    if ((e = read_options(config, true, out, detail)) != ERR_OK ||
        (e = connect_all(config, out, detail)) != ERR_OK ||
        (e = network_read(out->db, &bound, detail)) != ERR_OK)
        return e;
    if (bound.passphrase == NULL)
        return detail_set(detail, ERR_CONFIG,
            "the database is bound to no network yet: run a command that has the keys first "
            "(ensure-accounts)");
    if (!text_equal(bound.passphrase, out->passphrase))
        return detail_set(
            detail, ERR_CONFIG, "the database is bound to the network \"%.60s\"", bound.passphrase);
    return ERR_OK;
}

int startup(const struct config *config, enum keyd_mode mode, bool needs_rpc, struct startup *out)
{
    struct detail detail = {0};
    *out = (struct startup){0};
    enum err e = start(config, mode, needs_rpc, out, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

int startup_without_keys(const struct config *config, struct startup *out)
{
    struct detail detail = {0};
    *out = (struct startup){0};
    enum err e = start_without_keys(config, out, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

void startup_end(struct startup *startup)
{
    keyd_stop(startup->keyd);
    db_free(startup->db);
    free(startup->passphrase);
}
