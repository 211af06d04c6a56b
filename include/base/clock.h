/*
 * Time on this host, for waiting and measuring only. No decision about a lease uses it: there, now is the
 * database's (DESIGN section 5).
 */
#ifndef FAIRWAY_BASE_CLOCK_H
#define FAIRWAY_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Monotonic milliseconds / microseconds since some start. */
int64_t clock_ms(void);
int64_t clock_us(void);

/* Milliseconds until a clock_ms() deadline, at least 0, at most INT_MAX: ready for poll(2). */
int clock_left_ms(int64_t deadline_ms);

/* A monotonic deadline as pthread_cond_timedwait wants it (CLOCK_MONOTONIC condition variables). */
struct timespec clock_timespec(int64_t deadline_ms);

void clock_sleep_ms(int ms);

#endif
