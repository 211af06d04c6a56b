/* The log lines about committed ledgers, for the replica that commits them. */
#ifndef FAIRWAY_INGEST_COMMIT_LOG_H
#define FAIRWAY_INGEST_COMMIT_LOG_H

#include "ledger_commit.h"

struct commit_log {
    bool synchronous; /* DATABASE_FAILOVER=synchronous: log when the standby's configuration changes */
    bool standby_known, standby_configured; /* as of the last commit */
};

/* The ledger at lead->cursor was committed; first: as the first one of this database. At debug level if it
 * changed nothing in the pool. */
void commit_log_ledger(
    struct commit_log *log, const struct lead *lead, bool first, const struct ledger_committed *committed);

/* The ledger at lead->cursor was committed after a gap that began after after_ledger. */
void commit_log_gap(struct commit_log *log, const struct lead *lead, uint32_t after_ledger,
    const struct ledger_committed *committed);

#endif
