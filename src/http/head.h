/* The header fields of a request that say how its body is framed and what it is. */
#pragma once

#include <microhttpd.h>

#include "base/err.h"

struct head {
    bool json;       /* Content-Type is application/json, with or without parameters */
    uint64_t length; /* Content-Length; 0 without one */
};

/* As the library has them in memory: not copies. */
struct head_line {
    const char *method, *target;
    size_t target_len; /* as sent; the library ends the path with a NUL in front of the query */
    const char *version;
};

/* ERR_INVALID_REQUEST when two readers could disagree on what the head says or where the body ends (RFC 9112
 * sections 3.2, 5.1, 5.2, 6.1 to 6.3); some versions of the library accept such heads. ERR_LENGTH_REQUIRED
 * for any Transfer-Encoding. The connection must be closed in both cases. */
MUST_CHECK enum err head_read(struct MHD_Connection *connection, const struct head_line *line,
    struct head *head, struct detail *detail);
