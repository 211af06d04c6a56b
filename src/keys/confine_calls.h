/* The system calls of a confined fairway. All others fail. */
#ifndef FAIRWAY_KEYS_CONFINE_CALLS_H
#define FAIRWAY_KEYS_CONFINE_CALLS_H

#include "keys/confine.h"

/* Installs the filter for the calling thread and all that it starts, and sets filter of the report.
 * ERR_CONFIG: the kernel refuses. */
MUST_CHECK enum err confine_calls(pid_t keyd, struct confine_report *report, struct detail *detail);

#endif
