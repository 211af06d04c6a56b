#include "pool_access.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "database.h"
#include "keys/secrets.h"
#include "option_rules.h"
#include "access_steps.h"
#include "unsupported_options.h"
#include "confinement.h"

/* KEYD, or fairway-keyd in the directory of this program. */
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

static enum err check_secrets(const struct keyd_secrets *secrets, struct detail *detail)
{
    if (secrets->master_key_fd < 0 && secrets->passphrase_fd < 0)
        return detail_set(detail, ERR_CONFIG,
            "no master key: set MASTER_KEY_FILE to the path of a key file (fairway keygen FILE makes one), or"
            " set CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE");
    if (secrets->distribution_fd < 0)
        return detail_set(detail, ERR_CONFIG,
            "no distribution account: set DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE to a file with its secret"
            " seed (S...)");
    return ERR_OK;
}

/* keyd would never sign a fee bump that costs more than a whole hour may. */
static enum err read_budget(const struct config *config, struct keyd_budget *out, struct detail *detail)
{
    const uint64_t most = config_number(config, "MAX_FEE") + config_number(config, "MAX_RESOURCE_FEE"),
                   hour = config_number(config, "KEYD_MAX_FEES_PER_HOUR");
    if (hour < most)
        return detail_set(detail, ERR_CONFIG,
            "KEYD_MAX_FEES_PER_HOUR=%" PRIu64 " is below MAX_FEE + MAX_RESOURCE_FEE=%" PRIu64
            ", the most that one fee bump may cost. Raise the first or lower one of the others",
            hour, most);
    *out = (struct keyd_budget){
        .signatures_per_second = (uint32_t)config_number(config, "KEYD_MAX_SIGNATURES_PER_SECOND"),
        .fee_stroops_per_hour = (int64_t)hour};
    return ERR_OK;
}

static enum err start_keyd(
    const struct config *config, enum keyd_mode mode, struct pool_access *out, struct detail *detail)
{
    AUTO_FREE char *program = keyd_path(config);
    struct keyd_secrets secrets;
    enum err e = read_budget(config, &out->limits.budget, detail);
    if (e == ERR_OK)
        e = secrets_open(&secrets, detail);
    if (e == ERR_OK)
        e = check_secrets(&secrets, detail);
    return e != ERR_OK ? e : keyd_start(program, mode, &out->limits, &secrets, &out->keyd, detail);
}

static void read_limits(const struct config *config, struct pool_access *out)
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
        .max_bump_fee_stroops = max_fee,
        .network = out->network,
        .has_distribution = config_text(config, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY") != NULL,
        .distribution = out->distribution};
    out->funds = (struct funds_limits){.payment_stroops = 2 * out->limits.limits.bump_base_fee_stroops,
        .low_payments = (int64_t)config_number(config, "LOW_BALANCE_PAYMENTS"),
        .min_payments = (int64_t)config_number(config, "MIN_BALANCE_PAYMENTS")};
}

static enum err read_options(const struct config *config, struct pool_access *out, struct detail *detail)
{
    const char *distribution = config_text(config, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY");
    out->database_url = config_text(config, "DATABASE_URL");
    out->database_direct_url = database_direct_url(config);
    out->rpc_url = config_text(config, "RPC_URL");
    out->passphrase = config_text(config, "NETWORK_PASSPHRASE");
    const char *failover = config_text(config, "DATABASE_FAILOVER");
    out->synchronous_failover = text_equal(failover, "synchronous");
    if (!out->synchronous_failover && !text_equal(failover, "asynchronous"))
        return detail_set(detail, ERR_CONFIG,
            "DATABASE_FAILOVER must be asynchronous or synchronous, not \"%.40s\"", failover);
    if (out->database_url == NULL)
        return detail_set(detail, ERR_CONFIG, "DATABASE_URL is not set");
    if (out->rpc_url == NULL)
        return detail_set(detail, ERR_CONFIG, "RPC_URL is not set");
    if (out->passphrase == NULL)
        return detail_set(detail, ERR_CONFIG,
            "NETWORK_PASSPHRASE is not set: \"Public Global Stellar Network ; September 2015\", or of testnet"
            " \"Test SDF Network ; September 2015\"; of others, see getNetwork of the RPC");
    out->network = network_id_of(out->passphrase);
    if (distribution != NULL && address_decode(distribution, &out->distribution) != ERR_OK)
        return detail_set(
            detail, ERR_CONFIG, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY is not an account address (G...)");
    enum err e = option_rules_check(config, detail);
    if (e != ERR_OK)
        return e;
    read_limits(config, out);
    return ERR_OK;
}

static enum err start(struct access_steps *steps, enum keyd_mode mode, struct detail *detail)
{
    const struct config *config = steps->config;
    enum err e;
    unsupported_options_warn();
    if ((e = read_options(config, steps->out, detail)) != ERR_OK ||
        (e = start_keyd(config, mode, steps->out, detail)) != ERR_OK ||
        (e = confinement_enter(config, keyd_pidfd(steps->out->keyd), LOG_INFO, detail)) != ERR_OK ||
        (e = access_steps_connect(steps, detail)) != ERR_OK)
        return e;
    return access_steps_load_keys(steps, detail);
}

int pool_access_open(const struct config *config, enum keyd_mode mode, struct pool_access *out)
{
    struct detail detail = {0};
    *out = (struct pool_access){0};
    struct access_steps steps = {.config = config,
        .out = out,
        .deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000};
    enum err e = start(&steps, mode, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

void pool_access_close(struct pool_access *access)
{
    keyd_stop(access->keyd);
    db_free(access->db);
}
