/* ensure-accounts: brings the pool to exactly N active channel accounts. Ingests ledgers itself unless
 * another process leads, so it needs no running serve. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/text.h"
#include "commands.h"
#include "start.h"
#include "pool/pool_counts.h"
#include "provision/provision.h"

#define ACCOUNTS_MAX 100000

static enum err read_wanted(const struct config *config, uint64_t *wanted)
{
    *wanted = config_number(config, "NUM_CHANNEL_ACCOUNTS");
    if (config_argument_count(config) == 1 &&
        text_to_u64(config_argument(config, 0), ACCOUNTS_MAX, wanted) != ERR_OK)
        return ERR_MALFORMED;
    return *wanted == 0 ? ERR_MALFORMED : ERR_OK;
}

/* ---- the command */

static enum err ensure(
    const struct config *config, struct pool_access *access, size_t *wanted, struct detail *detail)
{
    const struct ingest_settings ingest = pool_access_ingestion(config, access);
    struct provision_settings settings = {.database_url = access->database_url,
        .rpc_url = access->rpc_url,
        .network = access->network,
        .distribution = access->distribution,
        .keyd = access->keyd,
        .fee_per_operation_stroops = (int64_t)config_number(config, "FEE_BUMP_BASE_FEE"),
        .max_fee_stroops = (int64_t)config_number(config, "MAX_FEE"),
        .ledger_ms = ingest.ledger_ms,
        .poll_ms = ingest.poll_ms,
        .timeout_s = (unsigned)config_number(config, "START_TIMEOUT"),
        .only_grows = config_argument_count(config) == 0};
    enum err e = ingest_start(&ingest, &settings.ingest, detail);
    if (e != ERR_OK)
        return e;
    e = provision_ensure(&settings, wanted, detail);
    ingest_stop(settings.ingest);
    return e;
}

static void print_plan(const struct pool_counts *counts, int64_t wanted, bool only_grows)
{
    const int64_t more = counts->active - wanted;
    printf(
        "%" PRId64 " channel accounts are active as of ledger %u, ", counts->active, counts->cursor_sequence);
    if (more > 0 && only_grows)
        printf("more than NUM_CHANNEL_ACCOUNTS: fairway ensure-accounts %" PRId64 " would retire %" PRId64
               "\n",
            wanted, more);
    else
        printf("%" PRId64 " are wanted: ", wanted);
    if (more < 0)
        printf("%" PRId64 " will be created, with 1 XLM of the distribution account's reserve each\n", -more);
    else if (more > 0 && !only_grows)
        printf("%" PRId64 " will be retired and merged into the distribution account, leased ones after their"
               " leases have ended\n",
            more);
    else if (more == 0)
        puts("none will be created or retired");
    if (counts->retiring > 0)
        printf("%" PRId64 " more are retiring and will be merged\n", counts->retiring);
    if (counts->creations_pending + counts->merges_pending > 0)
        puts("transactions of an earlier run are pending and may change these numbers");
    if (counts->quarantined > 0)
        printf("%" PRId64 " are quarantined and do not count: see fairway accounts\n", counts->quarantined);
    fflush(stdout);
}

static enum err plan(const struct config *config, struct db *db, struct detail *detail)
{
    struct pool_counts counts;
    uint64_t wanted = 0;
    enum err e = read_wanted(config, &wanted);
    if (e == ERR_OK)
        e = pool_counts_read(db, true, &counts, detail);
    if (e == ERR_OK)
        print_plan(&counts, (int64_t)wanted, config_argument_count(config) == 0);
    return e;
}

int cmd_ensure_accounts(const struct config *config)
{
    struct pool_access access;
    struct detail detail = {0};
    uint64_t number;
    if (read_wanted(config, &number) != ERR_OK)
        return command_usage_error("ensure-accounts", "N must be a number from 1 to %d", ACCOUNTS_MAX);
    if (config_is_on(config, "DRY_RUN"))
        return database_run(config, "fairway ensure-accounts", plan, "cannot read the pool");
    int code = pool_access_open(config, KEYD_PROVISION, true, &access);
    if (code == EX_OK) {
        size_t wanted = (size_t)number;
        enum err e = plan(config, access.db, &detail); /* first: scaling down removes accounts */
        if (e == ERR_OK)
            e = ensure(config, &access, &wanted, &detail);
        if (e == ERR_OK)
            printf("%zu channel accounts active\n", wanted);
        else
            code = command_failed(e, &detail, "cannot bring the pool to the wanted size");
    }
    pool_access_close(&access);
    return code;
}
