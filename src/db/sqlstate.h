/* Maps SQLSTATE codes (PostgreSQL manual, appendix A) to enum err. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Returns ERR_SERIALIZATION, ERR_CONSTRAINT, ERR_DATABASE_UNAVAILABLE or ERR_INTERNAL. NULL (an error of
 * libpq itself has no SQLSTATE) is ERR_DATABASE_UNAVAILABLE. */
enum err sqlstate_err(const char *state);

/* Whether the session must be closed after this error although the connection works: the server became
 * read-only, or its prepared statements are missing or outdated. */
bool sqlstate_spoils_session(const char *state);

/* lock_timeout ended the statement; the role lacks a privilege. */
#define SQLSTATE_LOCK_TIMEOUT "55P03"
#define SQLSTATE_PRIVILEGE "42501"
