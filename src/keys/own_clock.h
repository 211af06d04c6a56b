/*
 * keyd's own view of the time. Each message carries the time that fairway counts from, the later one of the
 * database's clock and the last close time. A captured fairway could send any, and collect signatures that
 * are valid for years. So keyd accepts no time that is more than OWN_CLOCK_AHEAD_S ahead of its own clock. An
 * earlier time is accepted: it only shortens what is signed.
 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* The latest time that is accepted, in Unix seconds. */
uint64_t own_clock_latest_s(void);

/* ERR_KEYD_CLOCK, with both times in detail: now_s is later than that. */
MUST_CHECK enum err own_clock_check(uint64_t now_s, struct detail *detail);
