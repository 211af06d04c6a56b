/* ensure-accounts: brings the pool to exactly N active channel accounts. Follows the ledgers itself, unless
 * another process does, so that it works alone. */
#include <stdio.h>
#include <sysexits.h>

#include "base/text.h"
#include "commands.h"
#include "provision/provision.h"
#include "startup.h"

#define ACCOUNTS_MAX 100000

static enum err read_wanted(const struct config *config, uint64_t *wanted)
{
    *wanted = config_number(config, "NUM_CHANNEL_ACCOUNTS");
    if (config_argument_count(config) > 1)
        return ERR_MALFORMED;
    if (config_argument_count(config) == 1 &&
        text_to_u64(config_argument(config, 0), ACCOUNTS_MAX, wanted) != ERR_OK)
        return ERR_MALFORMED;
    return *wanted == 0 ? ERR_MALFORMED : ERR_OK;
}

static enum err ensure(
    const struct config *config, const struct startup *base, size_t wanted, struct detail *detail)
{
    const unsigned poll_ms = (unsigned)config_number(config, "INGEST_POLL_MS");
    const unsigned ledger_seconds = (unsigned)config_number(config, "LEDGER_SECONDS");
    const struct ingest_settings following = {.database_direct_url = base->database_direct_url,
        .rpc_url = base->rpc_url,
        .network = base->network,
        .poll_ms = poll_ms,
        .ledger_seconds = ledger_seconds,
        .synchronous_failover = base->synchronous_failover,
        .funds = base->funds,
        .retention_s = (int64_t)config_number(config, "LEASE_RETENTION_DAYS") * 86400};
    struct provision_settings settings = {.database_direct_url = base->database_direct_url,
        .rpc_url = base->rpc_url,
        .network = base->network,
        .distribution = base->distribution,
        .keyd = base->keyd,
        .fee_per_operation_stroops = (int64_t)config_number(config, "FEE_BUMP_BASE_FEE"),
        .max_fee_stroops = (int64_t)config_number(config, "MAX_FEE"),
        .ledger_seconds = ledger_seconds,
        .poll_ms = poll_ms,
        .timeout_s = (unsigned)config_number(config, "START_TIMEOUT")};
    enum err e = ingest_start(&following, &settings.ingest, detail);
    if (e != ERR_OK)
        return e;
    e = provision_ensure(&settings, wanted, detail);
    ingest_stop(settings.ingest);
    return e;
}

int cmd_ensure_accounts(const struct config *config)
{
    struct startup base;
    struct detail detail = {0};
    uint64_t wanted;
    if (read_wanted(config, &wanted) != ERR_OK) {
        fprintf(stderr, "fairway ensure-accounts: give one number of accounts, from 1 to %d\n", ACCOUNTS_MAX);
        return EX_USAGE;
    }
    int code = startup(config, KEYD_PROVISION, NEEDS_RPC, &base);
    if (code == EX_OK) {
        enum err e = ensure(config, &base, wanted, &detail);
        if (e == ERR_OK)
            printf("%llu channel accounts active\n", (unsigned long long)wanted);
        else
            code = command_failed(e, &detail, "the pool is not as large as it should be");
    }
    startup_end(&base);
    return code;
}
