/* Maps SQLSTATE codes (PostgreSQL manual, appendix A) to enum err. */
#ifndef FAIRWAY_DB_SQLSTATE_H
#define FAIRWAY_DB_SQLSTATE_H

#include <stdbool.h>

#include "base/err.h"

/* Returns ERR_SERIALIZATION, ERR_CONSTRAINT, ERR_DATABASE_UNAVAILABLE or ERR_INTERNAL. NULL (an error of
 * libpq itself has no SQLSTATE) is ERR_DATABASE_UNAVAILABLE. */
enum err sqlstate_err(const char *state);

/* Whether the session must be closed after this error although the connection works: the server became
 * read-only, or its prepared statements are missing or outdated. */
bool sqlstate_spoils_session(const char *state);

/* Whether lock_timeout ended the statement. */
bool sqlstate_is_lock_timeout(const char *state);

/* Whether the role lacks a privilege. */
bool sqlstate_is_privilege(const char *state);

#endif
