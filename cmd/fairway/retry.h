/* Retries one step of a start while what it needs is unavailable. */
#ifndef FAIRWAY_RETRY_H
#define FAIRWAY_RETRY_H

#include <stdint.h>

#include "base/err.h"

typedef enum err (*retry_step)(void *context, struct detail *detail);

/*
 * Runs step, and repeats it with growing pauses while the database or the RPC is unavailable or another
 * process has a lock, until deadline_ms (clock_ms) has passed. Logs the reason every 5 s. Returns the last
 * result; any other error, such as a wrong configuration, ends the retries.
 */
MUST_CHECK enum err retry_until(retry_step step, void *context, int64_t deadline_ms, struct detail *detail);

#endif
