/*
 * The key process's loop: one request, one answer. It trusts nothing that it reads: each message must be
 * known, allowed in this mode and in turn, and of the announced shape; anything else ends the process,
 * because whoever sends it is not fairway any more.
 */
#ifndef FAIRWAY_KEYS_SERVER_H
#define FAIRWAY_KEYS_SERVER_H

#include "ring.h"

/* Exit codes beside those of sysexits.h: which violation ended the process. */
enum violation {
    VIOLATION_NONE = 0,
    VIOLATION_UNKNOWN = 80, /* no such message */
    VIOLATION_MODE,         /* not allowed in this mode */
    VIOLATION_TURN,         /* before loading, or loading twice */
    VIOLATION_OVERSIZED,    /* announces more than its type may have */
    VIOLATION_TRUNCATED,    /* the socket closed inside it */
    VIOLATION_MALFORMED,    /* its payload is not of its type's shape */
};

/*
 * Serves until the other side closes: EX_OK. EX_CONFIG: the key ring could not be loaded, which was answered.
 * A violation, which was logged. EX_IOERR: nobody takes the answer.
 */
int keyd_serve(int fd, enum keyd_mode mode, struct ring *ring);

#endif
