/* The options of authentication: which clients there are, when they are read again, and where to listen. */
#ifndef FAIRWAY_AUTHENTICATION_H
#define FAIRWAY_AUTHENTICATION_H

#include "auth/auth.h"
#include "base/config.h"

/*
 * *out is NULL with AUTH=none. ERR_CONFIG: there is neither a client nor AUTH=none, or both, or the clients
 * are not readable (see auth_open).
 */
MUST_CHECK enum err authentication_open(
    const struct config *config, struct auth **out, struct detail *detail);
/* Reads the clients again and logs the outcome; the same error as before only at SIGHUP. why: for the log.
 * auth may be NULL. One thread calls it. */
void authentication_reload(struct auth *auth, const char *why);
/* LISTEN; without it every address of the host, or loopback when requests are not authenticated. */
const char *authentication_listen(const struct config *config);

#endif
