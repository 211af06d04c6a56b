/* What a long-running command logs once when it has started. */
#ifndef FAIRWAY_START_REPORT_H
#define FAIRWAY_START_REPORT_H

#include "pool_access.h"

/* Logs version, network, pool size and the options that differ from their defaults, without secrets;
 * also if fewer accounts are active than NUM_CHANNEL_ACCOUNTS. */
void start_report(const struct config *config, const struct pool_access *access);

#endif
