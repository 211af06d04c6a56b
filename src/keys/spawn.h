/* Starting fairway-keyd with a socket and its secrets, and nothing else; and its end. */
#ifndef FAIRWAY_KEYS_SPAWN_H
#define FAIRWAY_KEYS_SPAWN_H

#include <sys/types.h>

#include "keys/keyd.h"

struct spawned {
    int fd; /* our end of the socket pair */
    int pidfd;
    pid_t pid;
};

/* Closes the secrets in any case. ERR_CONFIG, ERR_KEYD_UNAVAILABLE. */
MUST_CHECK enum err spawn_keyd(const char *program, enum keyd_mode mode, const struct keyd_secrets *secrets,
    struct spawned *out, struct detail *detail);

/* Whether it has ended, or does within wait_ms; *detail says how. Does not reap it. */
bool spawned_ended(const struct spawned *child, int wait_ms, struct detail *detail);

/* Waits for the end, which the caller has caused; after patience_ms kills it. Closes pidfd. */
void spawned_reap(struct spawned *child, int patience_ms);

#endif
