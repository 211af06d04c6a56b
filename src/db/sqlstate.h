/* What a PostgreSQL error means for the caller (PostgreSQL manual, appendix A). */
#ifndef FAIRWAY_DB_SQLSTATE_H
#define FAIRWAY_DB_SQLSTATE_H

#include <stdbool.h>

#include "base/err.h"

/* ERR_SERIALIZATION, ERR_CONSTRAINT, ERR_DATABASE_UNAVAILABLE or ERR_INTERNAL; NULL (libpq's own errors,
 * which have no state) is ERR_DATABASE_UNAVAILABLE. */
enum err sqlstate_err(const char *state);

/* Whether the session is of no use after this error although the connection may live: the server became
 * read-only, or no longer has the statements that were prepared, or has others in their place. */
bool sqlstate_spoils_session(const char *state);

/* Whether the statement gave up waiting for a lock. */
bool sqlstate_is_lock_timeout(const char *state);

#endif
