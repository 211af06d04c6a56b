/* Starts fairway-keyd with only a socket and the secrets' descriptors, and waits for its end. */
#pragma once

#include <sys/types.h>

#include "keys/keyd.h"

struct spawn_child {
    int fd; /* fairway's end of the socket pair */
    int pidfd;
    pid_t pid;
};

/* Forks and executes program. Closes the secrets, also on error. ERR_CONFIG: program cannot be executed.
 * ERR_KEYD_UNAVAILABLE: a system call failed. */
MUST_CHECK enum err spawn_keyd(const char *program, enum keyd_mode mode, const struct keyd_settings *settings,
    const struct keyd_secrets *secrets, struct spawn_child *out, struct detail *detail);

/* Whether the process has ended or ends within wait_ms; *detail says how. Does not reap it. */
bool spawn_ended(const struct spawn_child *child, int wait_ms, struct detail *detail);

/* Waits for the process to end and reaps it; kills it after wait_ms. The caller has closed the socket,
 * which makes it end. Closes pidfd. */
void spawn_reap(struct spawn_child *child, int wait_ms);
