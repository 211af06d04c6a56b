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
    struct pool_access base;
    struct ingest *ingest;
    struct detail detail = {0};
    signal(SIGHUP, SIG_IGN); /* options are read at start only: there is nothing to reload */
    int code = pool_access_open_without_keys(config, &base), signal_number;
    if (code != EX_OK) {
        pool_access_close(&base);
        return code;
    }
    start_report(config, &base, false);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    enum err e =
        ingest_start(&(struct ingest_settings){.database_direct_url = base.database_direct_url,
                         .rpc_url = base.rpc_url,
                         .network = base.network,
                         .poll_ms = (unsigned)config_number(config, "INGEST_POLL_MS"),
                         .ledger_seconds = (unsigned)config_number(config, "LEDGER_SECONDS"),
                         .synchronous_failover = base.synchronous_failover,
                         .funds = base.funds,
                         .retention_s = (int64_t)config_number(config, "LEASE_RETENTION_DAYS") * 86400},
            &ingest, &detail);
    if (e == ERR_OK) {
        sigwait(&ends, &signal_number);
        log_info("stopping", NULL);
        ingest_stop(ingest);
    } else
        code = command_failed(e, &detail, "cannot start");
    pool_access_close(&base);
    return code;
}
