/* The options that commands on the pool share, and in which order such a command starts. Serves nothing and
 * leases nothing. */
#include "start.h"

#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/text.h"
#include "commands.h"
#include "options.h"
#include "rpc/rpc.h"

/* Per operation of an inner transaction. It is not charged, and must not be above the rate of the fee bump
 * (CAP-15). */
#define BASE_FEE_STROOPS 100

#define SIGNATURES_PER_SECOND 20000 /* of the key process: more than any load that was measured */
#define POLLS_A_LEDGER 12

static void read_limits(const struct config *config, struct pool_access *out)
{
    const int64_t max_fee = (int64_t)config_number(config, "MAX_FEE");
    const int64_t max_resource_fee = (int64_t)config_number(config, "MAX_RESOURCE_FEE");
    out->limits = (struct keyd_settings){
        .limits = {.base_fee_stroops = BASE_FEE_STROOPS,
            .max_resource_fee_stroops = max_resource_fee,
            .bump_base_fee_stroops = (int64_t)config_number(config, "FEE_BUMP_BASE_FEE"),
            .max_bump_fee_stroops = max_fee},
        .max_lease_fee_stroops = (int64_t)BASE_FEE_STROOPS * OPERATIONS_MAX + max_resource_fee,
        .max_bump_fee_stroops = max_fee,
        .budget = {.signatures_per_second = SIGNATURES_PER_SECOND,
            .fee_stroops_per_hour = (int64_t)config_number(config, "KEYD_MAX_FEES_PER_HOUR")},
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
    enum err e = options_check(config, detail);
    if (e != ERR_OK)
        return e;
    read_limits(config, out);
    return rpc_set_files(
        config_text(config, "RPC_HEADERS_FILE"), config_text(config, "RPC_CA_FILE"), out->rpc_url, detail);
}

/* Returns ERR_OK without an answer when the command does not need one to start. */
static enum err check_rpc(struct pool_access *out, bool needs_rpc, int64_t deadline_ms, struct detail *detail)
{
    const int64_t soon_ms = clock_ms() + SERVE_RPC_MS;
    enum err e = rpcs_check(
        out->rpc_url, out->passphrase, needs_rpc || deadline_ms < soon_ms ? deadline_ms : soon_ms, detail);
    out->rpc_checked = e == ERR_OK;
    if (needs_rpc || (e != ERR_RPC_UNAVAILABLE && e != ERR_RPC_REFUSED))
        return e;
    log_warn("starting without Stellar RPC: until it answers, nothing is ingested and nothing is leased",
        "error=%s detail=\"%s\"", err_code(e), detail->text);
    return ERR_OK;
}

/* In this order: before a socket is open, the key process is started and this process confined; the keys are
 * loaded when everything that belongs together has been compared. */
enum err pool_access_step(const struct pool_opening *opening, enum pool_step step, struct detail *detail)
{
    struct pool_access *out = opening->out;
    switch (step) {
    case STEP_OPTIONS:
        return read_options(opening->config, out, detail);
    case STEP_KEY_PROCESS:
        return key_process_start(opening->config, opening->mode, out, detail);
    case STEP_CONFINEMENT:
        return confinement_enter(opening->config, keyd_pidfd(out->keyd), LOG_INFO, detail);
    case STEP_DATABASE:
        return database_open_pool(opening->config, "fairway start", opening->deadline_ms, &out->db, detail);
    case STEP_RPC:
        return check_rpc(out, opening->needs_rpc, opening->deadline_ms, detail);
    case STEP_KEYS:
        return key_process_load(opening->mode, out, opening->deadline_ms, detail);
    case STEP_COUNT:
        break;
    }
    return ERR_INTERNAL;
}

int pool_access_open(
    const struct config *config, enum keyd_mode mode, bool needs_rpc, struct pool_access *out)
{
    struct detail detail = {0};
    *out = (struct pool_access){0};
    const struct pool_opening opening = {.config = config,
        .mode = mode,
        .needs_rpc = needs_rpc,
        .deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000,
        .out = out};
    enum err e = ERR_OK;
    for (enum pool_step step = 0; e == ERR_OK && step < STEP_COUNT; step++)
        e = pool_access_step(&opening, step, &detail);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot start");
}

unsigned pool_access_poll_ms(const struct config *config)
{
    return (unsigned)config_ms(config, "LEDGER_SECONDS") / POLLS_A_LEDGER;
}

/* For ingestion, which repeats it. */
static enum err check_rpc_again(void *context, struct detail *detail)
{
    const struct pool_access *access = context;
    return rpcs_check_once(access->rpc_url, access->passphrase, clock_ms() + SERVE_RPC_MS, detail);
}

struct ingest_settings pool_access_ingestion(const struct config *config, struct pool_access *access)
{
    return (struct ingest_settings){.database_url = access->database_url,
        .rpc_url = access->rpc_url,
        .trusted_validators = config_text(config, "TRUSTED_VALIDATORS"),
        .network = access->network,
        .poll_ms = pool_access_poll_ms(config),
        .ledger_ms = (unsigned)config_ms(config, "LEDGER_SECONDS"),
        .synchronous_failover = access->synchronous_failover,
        .funds = access->funds,
        .retention_s = (int64_t)config_number(config, "LEASE_RETENTION_DAYS") * 86400,
        .check = {access->rpc_checked ? NULL : check_rpc_again, access}};
}

void pool_access_close(struct pool_access *access)
{
    keyd_stop(access->keyd);
    db_free(access->db);
}
