/* The key process from its walls to its end. */
#ifndef FAIRWAY_KEYS_KEYD_MAIN_H
#define FAIRWAY_KEYS_KEYD_MAIN_H

#include "keys/keyd.h"

/* Raises the walls, reads the secrets, serves; answers the exit code (sysexits.h). */
int keyd_main(int socket_fd, enum keyd_mode mode, const struct keyd_secrets *secrets);

#endif
