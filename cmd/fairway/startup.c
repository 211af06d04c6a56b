#include "startup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "keys/secrets.h"
#include "options_check.h"
#include "starting.h"

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

static void read_limits(const struct config *config, struct startup *out)
{
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
    read_limits(config, out);
    return ERR_OK;
}

static enum err start(struct starting *starting, enum keyd_mode mode, struct detail *detail)
{
    const struct config *config = starting->config;
    enum err e;
    if ((e = read_options(config, (starting->needs & NEEDS_RPC) != 0, starting->out, detail)) != ERR_OK ||
        (e = start_keyd(config, mode, starting->out, detail)) != ERR_OK ||
        (e = starting_connect(starting, detail)) != ERR_OK)
        return e;
    starting->expected = starting->out->distribution;
    return starting_load_keys(starting, detail);
}

static enum err start_without_keys(struct starting *starting, struct detail *detail)
{
    enum err e;
    if ((e = read_options(starting->config, true, starting->out, detail)) != ERR_OK ||
        (e = starting_connect(starting, detail)) != ERR_OK)
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

static struct starting starting_new(const struct config *config, unsigned needs, struct startup *out)
{
    *out = (struct startup){0};
    return (struct starting){.config = config,
        .out = out,
        .needs = needs,
        .deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000};
}

int startup(const struct config *config, enum keyd_mode mode, unsigned needs, struct startup *out)
{
    struct detail detail = {0};
    struct starting starting CLEANUP(starting_free) = starting_new(config, needs, out);
    enum err e = start(&starting, mode, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

int startup_without_keys(const struct config *config, struct startup *out)
{
    struct detail detail = {0};
    struct starting starting CLEANUP(starting_free) = starting_new(config, NEEDS_RPC, out);
    enum err e = start_without_keys(&starting, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

void startup_end(struct startup *startup)
{
    keyd_stop(startup->keyd);
    db_free(startup->db);
    free(startup->passphrase);
}
