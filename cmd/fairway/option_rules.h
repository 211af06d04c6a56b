/* Refuses options that contradict each other, although each value is within its own bounds. */
#ifndef FAIRWAY_OPTION_RULES_H
#define FAIRWAY_OPTION_RULES_H

#include "base/config.h"

/* ERR_CONFIG: detail names both options and what to change. */
MUST_CHECK enum err option_rules_check(const struct config *config, struct detail *detail);

#endif
