/* The monotonic clock of this host, and waiting by it. No time of day is read here. */
#include "base/clock.h"

#include <limits.h>

int64_t clock_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

int64_t clock_ms(void)
{
    return clock_us() / 1000;
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms();
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

struct timespec clock_timespec(int64_t deadline_ms)
{
    return (struct timespec){.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
}

void clock_sleep_ms(int ms)
{
    struct timespec left = clock_timespec(ms);
    while (nanosleep(&left, &left) != 0)
        ;
}

void clock_text(int64_t unix_s, char out[static CLOCK_TEXT_SIZE])
{
    const time_t at = (time_t)unix_s;
    struct tm utc;
    if (gmtime_r(&at, &utc) == NULL || strftime(out, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
}
