/*
 * The monotonic clock of this host, for waiting and measuring. Decisions about leases never use it: they use
 * the time of the database.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Milliseconds and microseconds since an arbitrary start. */
int64_t clock_ms(void);
int64_t clock_us(void);

/* Milliseconds until a clock_ms() deadline, from 0 to INT_MAX, as poll(2) takes them. */
int clock_left_ms(int64_t deadline_ms);

/* The deadline as pthread_cond_timedwait takes it, for condition variables on CLOCK_MONOTONIC. */
struct timespec clock_timespec(int64_t deadline_ms);

void clock_sleep_ms(int ms);

#define CLOCK_TEXT_SIZE 32
/* Writes a time of day, in Unix seconds, as people read it: 2026-01-31T12:00:00Z. */
void clock_text(int64_t unix_s, char out[static CLOCK_TEXT_SIZE]);
