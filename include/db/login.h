/* Distinguishes a refused login from an unavailable server. */
#ifndef FAIRWAY_DB_LOGIN_H
#define FAIRWAY_DB_LOGIN_H

#include "base/err.h"

/*
 * Call it after a connection attempt has failed. Connects again to read the SQLSTATE of the refusal, which
 * libpq's messages do not contain. ERR_CONFIG, with the reason in detail: the server refuses the password or
 * the role (SQLSTATE class 28), or has no such database (3D000), so retrying does not help. ERR_OK in every
 * other case, also when the server is unavailable. Blocks for up to two connection attempts.
 */
MUST_CHECK enum err login_check(const char *url, struct detail *detail);

#endif
