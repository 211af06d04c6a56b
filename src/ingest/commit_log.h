/* The log lines about committed ledgers, for the replica that commits them. */
#ifndef FAIRWAY_INGEST_COMMIT_LOG_H
#define FAIRWAY_INGEST_COMMIT_LOG_H

#include "ledger_commit.h"

struct commit_log {
    bool synchronous;     /* DATABASE_FAILOVER=synchronous: log when the standby's configuration changes */
    bool standby_missing; /* as of the last commit; false before the first */
};

/* Logs the commit of the ledger at lead->cursor; first: it is the first one of this database. A ledger that
 * changed nothing in the pool is logged at debug level. */
void commit_log_ledger(
    struct commit_log *log, const struct lead *lead, bool first, const struct ledger_committed *committed);

/* Logs the commit of the ledger at lead->cursor after a gap; after_ledger is the last ledger before the gap.
 */
void commit_log_gap(struct commit_log *log, const struct lead *lead, uint32_t after_ledger,
    const struct ledger_committed *committed);

/* Logs what a committed ledger did to accounts. */
void commit_log_accounts(uint32_t ledger, const struct settle_notes *notes);

/* Logs the same for a ledger whose COMMIT had no answer, once the cursor shows that it is committed. To be
 * called with the cursor after each attempt to take the lead. */
void commit_log_unsure(struct lead *lead, uint32_t cursor);

#endif
