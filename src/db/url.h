/* The database URL, or connection string, as libpq reads it. */
#ifndef FAIRWAY_DB_URL_H
#define FAIRWAY_DB_URL_H

#include "base/err.h"

/* ERR_CONFIG: libpq cannot read it; detail names an unknown parameter, and never quotes a password. */
MUST_CHECK enum err url_check(const char *url, struct detail *detail);

#endif
