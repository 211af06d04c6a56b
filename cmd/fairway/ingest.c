/* ingest: ingests ledgers without serving the API, until SIGTERM or SIGINT. */
#include <signal.h>
#include <sysexits.h>

#include "base/log.h"
#include "commands.h"
#include "ingest/ingest.h"
#include "pool_access.h"
#include "start_report.h"

int cmd_ingest(const struct config *config)
{
    struct pool_access access;
    struct ingest *ingest;
    struct detail detail = {0};
    signal(SIGHUP, SIG_IGN); /* options are read at start only: there is nothing to reload */
    int code = pool_access_open_without_keys(config, &access), signal_number;
    if (code != EX_OK) {
        pool_access_close(&access);
        return code;
    }
    start_report(config, &access, false);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    enum err e =
        ingest_start(&(struct ingest_settings){.database_direct_url = access.database_direct_url,
                         .rpc_url = access.rpc_url,
                         .network = access.network,
                         .poll_ms = (unsigned)config_number(config, "INGEST_POLL_MS"),
                         .ledger_seconds = (unsigned)config_number(config, "LEDGER_SECONDS"),
                         .synchronous_failover = access.synchronous_failover,
                         .funds = access.funds,
                         .retention_s = (int64_t)config_number(config, "LEASE_RETENTION_DAYS") * 86400},
            &ingest, &detail);
    if (e == ERR_OK) {
        sigwait(&ends, &signal_number);
        log_info("stopping", NULL);
        ingest_stop(ingest);
    } else
        code = command_failed(e, &detail, "cannot start");
    pool_access_close(&access);
    return code;
}
