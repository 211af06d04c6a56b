/* Upper bounds of time in tests. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* The programs that run or want to run: over the last minute, or now if that is more, because the average
 * follows a load of some seconds late. */
static inline double slowness_load(void)
{
    double load = 0, unused;
    long running = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lf %lf %lf %ld/", &load, &unused, &unused, &running) != 4)
        load = 0;
    fclose(file);
    return load > (double)running ? load : (double)running;
}

/* What takes up to ms alone may take that long here: more in proportion to the machine's load, at most 10
 * times; three times as long again when a sanitizer watches. */
static inline int64_t slower(int64_t ms)
{
#ifdef FAIRWAY_SANITIZED
    ms *= 3;
#endif
    const double factor = slowness_load() / (double)sysconf(_SC_NPROCESSORS_ONLN);
    return factor <= 1 ? ms : (int64_t)((double)ms * (factor < 10 ? factor : 10));
}
