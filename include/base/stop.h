/* Tells threads to end, wherever they wait. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct stop {
    int fd; /* readable once stop_tell was called, and from then on */
};

MUST_CHECK enum err stop_open(struct stop *stop, struct detail *detail);
void stop_close(struct stop *stop);

/* Any thread. */
void stop_tell(const struct stop *stop);

/* Waits for ms. Returns false, at once, after stop_tell. Any thread. */
bool stop_wait(const struct stop *stop, unsigned ms);
