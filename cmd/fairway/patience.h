/* The steps of a start, each repeated while what it needs is unavailable. */
#ifndef FAIRWAY_PATIENCE_H
#define FAIRWAY_PATIENCE_H

#include <stdint.h>

#include "base/err.h"

typedef enum err (*patient_step)(void *context, struct detail *detail);

/*
 * Runs step until it succeeds. A database or an RPC that is unavailable, and a lock that another process
 * holds, are waited for until deadline_ms (clock_ms): the step runs again, with growing pauses, and the log
 * says why every few seconds. Any other error, such as wrong configuration, is returned at once.
 */
MUST_CHECK enum err patiently(patient_step step, void *context, int64_t deadline_ms, struct detail *detail);

#endif
