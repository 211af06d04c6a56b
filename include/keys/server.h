/*
 * The key process, which handles one request at a time. Each message must be known, allowed in this mode and
 * at this point, and well formed. Any other message ends the process: its peer is then not the fairway that
 * started it, or is compromised.
 */
#pragma once

#include "keys/arguments.h"

/* Exit codes beside those of sysexits.h: the violation that ended the process. */
enum server_violation {
    VIOLATION_NONE = 0,
    VIOLATION_UNKNOWN = 80, /* unknown message type */
    VIOLATION_MODE,         /* not allowed in this mode */
    VIOLATION_TURN,         /* another request before WIRE_LOAD, or a second WIRE_LOAD */
    VIOLATION_OVERSIZED,    /* the payload is longer than its type allows */
    VIOLATION_TRUNCATED,    /* the peer closed the socket inside a message */
    VIOLATION_MALFORMED,    /* the payload does not decode */
};

/*
 * Enters the sandbox, reads the secrets, sends WIRE_READY, and handles requests until the peer closes the
 * socket (EX_OK). EX_CONFIG: the sandbox or the secrets fail, or the key ring could not be loaded; the answer
 * says why. EX_IOERR: an answer could not be written. Else a violation, which is logged.
 */
int server_main(const struct arguments *arguments);
