/* Starting fairway-keyd with a socket and its secrets, and nothing else. */
#ifndef FAIRWAY_KEYS_SPAWN_H
#define FAIRWAY_KEYS_SPAWN_H

#include <sys/types.h>

#include "keys/keyd.h"

struct spawned {
    int fd;    /* our end of the socket pair */
    int pidfd; /* -1 where the kernel has none */
    pid_t pid;
};

MUST_CHECK enum err spawn_keyd(const char *program, enum keyd_mode mode, const struct keyd_secrets *secrets,
    struct spawned *out, struct detail *detail);

#endif
