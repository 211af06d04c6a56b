/* Secrets from descriptors into guarded memory. */
#ifndef FAIRWAY_KEYS_RING_READ_H
#define FAIRWAY_KEYS_RING_READ_H

#include "ring.h"

/* Reads at most max bytes to the end of fd straight into out and closes fd. ERR_CONFIG: unreadable or longer.
 */
MUST_CHECK enum err secret_read(int fd, void *out, size_t max, size_t *len);

#endif
