/* Options that contradict each other. Each alone is within its bounds; together they cannot be what anybody
 * wants. */
#ifndef FAIRWAY_OPTIONS_CHECK_H
#define FAIRWAY_OPTIONS_CHECK_H

#include "base/config.h"

/* ingests: this command follows ledgers. ERR_CONFIG: detail names both options and what to change. */
MUST_CHECK enum err options_check(const struct config *config, bool ingests, struct detail *detail);

#endif
