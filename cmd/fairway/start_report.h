/* What a long-running command logs once when it has started. */
#ifndef FAIRWAY_START_REPORT_H
#define FAIRWAY_START_REPORT_H

#include "pool_access.h"

/* Logs version, network, pool size and the options that differ from their defaults, without secrets. serves
 * (false: ingest, which has no NUM_CHANNEL_ACCOUNTS): logs also if fewer accounts are active than that. */
void start_report(const struct config *config, const struct pool_access *access, bool serves);

#endif
