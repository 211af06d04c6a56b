/* What serve listens on: the API, and beside it the admin listener with threads and connections of its own.
 */
#ifndef FAIRWAY_LISTENERS_H
#define FAIRWAY_LISTENERS_H

#include "api/api.h"
#include "base/config.h"
#include "http/server.h"

struct listeners {
    struct http_server *api, *admin; /* NULL: not open */
};

/* ERR_CONFIG: this process may not have as many descriptors as MAX_CONNECTIONS and the rest need. */
MUST_CHECK enum err listeners_check(const struct config *config, struct detail *detail);
/* To the hard limit: the soft one is meant for programs that use select(2). */
void listeners_raise_limit(void);

bool listeners_want_admin(const struct config *config);
/* Opens both (admin NULL: only the API) and says so on standard output, where whoever started this waits for
 * it. What was opened before an error is closed by listeners_free. */
MUST_CHECK enum err listeners_open(const struct config *config, const struct api *api,
    const struct api *admin, struct listeners *out, struct detail *detail);
/* The API's requests under way get up to grace_ms; the admin listener answers meanwhile. */
void listeners_drain(struct listeners *listeners, int grace_ms);
void listeners_free(struct listeners *listeners);

#endif
