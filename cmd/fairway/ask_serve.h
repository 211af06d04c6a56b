/* A request to the serve process on this host: to its admin listener, or to the API's when that is off. */
#ifndef FAIRWAY_ASK_SERVE_H
#define FAIRWAY_ASK_SERVE_H

#include "base/config.h"

/* GET path. Returns the HTTP status, and the reply's body, which stays until the next call. 0: no answer; -1:
 * the port is not configured; both are printed to standard error. name: of the command. */
int ask_serve(const struct config *config, const char *name, const char *path, const char **body);

#endif
