/* Upper bounds of time in tests. */
#ifndef FAIRWAY_TESTS_SLOWNESS_H
#define FAIRWAY_TESTS_SLOWNESS_H

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* What takes up to ms alone may take that long here: more in proportion to the machine's load, at most 10
 * times. */
static inline int64_t slower(int64_t ms)
{
    double load = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1 || processors < 1 || load <= (double)processors)
        return ms;
    const double factor = load / (double)processors;
    return (int64_t)((double)ms * (factor < 10 ? factor : 10));
}

#endif
