/*
 * The key process's loop: one request, one answer. It trusts nothing that it reads: each message must be
 * known, allowed in this mode and in turn, and of the announced shape; anything else ends the process,
 * because whoever sends it is not fairway any more.
 */
#ifndef FAIRWAY_KEYS_SERVER_H
#define FAIRWAY_KEYS_SERVER_H

#include "ring.h"

/* Serves until the other side closes: EX_OK. EX_PROTOCOL: a violation, which was logged. EX_IOERR: the socket
 * failed. */
int keyd_serve(int fd, enum keyd_mode mode, struct ring *ring);

#endif
