/* The listeners of serve: the API, and the admin listener with threads and connections of its own. */
#ifndef FAIRWAY_LISTENERS_H
#define FAIRWAY_LISTENERS_H

#include "api/api.h"
#include "base/config.h"
#include "http/server.h"

struct listeners {
    struct http_server *api, *admin; /* NULL: not open */
};

/* ERR_CONFIG: this process may not open as many files as MAX_CONNECTIONS and everything else needs. */
MUST_CHECK enum err listeners_check(const struct config *config, struct detail *detail);
/* Raises the soft limit on open files to the hard limit. */
void listeners_raise_limit(void);

bool listeners_want_admin(const struct config *config);
/* The configured port, or the default that follows from PORT; 0: any free port. */
unsigned listeners_admin_port(const struct config *config);
/* Opens both (admin NULL: only the API) and prints their addresses on standard output, where a supervisor may
 * wait for them. After an error, listeners_free closes what was opened. */
MUST_CHECK enum err listeners_open(const struct config *config, const struct api *api,
    const struct api *admin, struct listeners *out, struct detail *detail);
/* Drains the API first: its open requests may take up to grace_ms. The admin listener serves requests
 * meanwhile. */
void listeners_drain(struct listeners *listeners, int grace_ms);
void listeners_free(struct listeners *listeners);

#endif
