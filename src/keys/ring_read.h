/* Reads secrets from descriptors into the ring's guarded memory. */
#ifndef FAIRWAY_KEYS_RING_READ_H
#define FAIRWAY_KEYS_RING_READ_H

#include "ring.h"

/* Reads and closes the descriptors, before the sandbox. ERR_CONFIG: a secret is unreadable or malformed. */
MUST_CHECK enum err ring_read(struct ring *ring, const struct keyd_secrets *from, struct detail *detail);

/* Reads fd to its end straight into out, and closes it. ERR_CONFIG: unreadable, or longer than max. */
MUST_CHECK enum err ring_read_secret(int fd, void *out, size_t max, size_t *len);

#endif
