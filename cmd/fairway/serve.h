/* The parts of serve, each in the file that is named. status and health read some of the same options. */
#pragma once

#include "api/api.h"
#include "base/config.h"
#include "http/server.h"

/* ---- authentication.c */

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

/* ---- listeners.c */

struct listeners {
    struct http_server *api, *admin; /* NULL: not open */
};

/* Raises the soft limit on open files to the hard limit. ERR_CONFIG: MAX_CONNECTIONS and everything else need
 * more. */
MUST_CHECK enum err listeners_raise_limit(const struct config *config, struct detail *detail);

bool listeners_want_admin(const struct config *config);
/* Only this host can reach it. */
bool listeners_admin_is_local(const struct config *config);
/* The configured port, or the default that follows from PORT; 0: any free port. */
unsigned listeners_admin_port(const struct config *config);
/* Opens both (admin NULL: only the API) and prints their addresses on standard output, where a supervisor may
 * wait for them. An error ends the process. */
MUST_CHECK enum err listeners_open(const struct config *config, const struct api *api,
    const struct api *admin, struct listeners *out, struct detail *detail);
/* Drains the API first: its open requests may take up to grace_ms. The admin listener serves requests
 * meanwhile. */
void listeners_drain(struct listeners *listeners, int grace_ms);
void listeners_free(struct listeners *listeners);

/* ---- systemd.c */

/* Sends one state, such as "READY=1", to the socket that $NOTIFY_SOCKET names. Does nothing when that is not
 * set. Does not block. A failure is only logged: the service runs, but the manager does not know it. */
void systemd_notify(const char *state);
