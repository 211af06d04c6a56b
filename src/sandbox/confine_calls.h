/* The system calls of a confined fairway. All others fail. */
#ifndef FAIRWAY_SANDBOX_CONFINE_CALLS_H
#define FAIRWAY_SANDBOX_CONFINE_CALLS_H

#include "sandbox/confine.h"

/* Installs the filter for the calling thread and all that it starts, and sets filter of the report. From then
 * on keyd_pidfd cannot be closed or replaced. ERR_CONFIG: the kernel refuses. */
MUST_CHECK enum err confine_calls(int keyd_pidfd, struct confine_report *report, struct detail *detail);

#endif
