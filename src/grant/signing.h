/* How long a batch may wait for the key process. */
#pragma once

#include "db/db.h"

#include "base/deadlines.h"

/* When keyd must have signed, by clock_ms, so that the connection's deadline can be kept; 0: no deadline. */
static inline int64_t signing_deadline_ms(const struct db *db)
{
    const int64_t deadline_ms = db_deadline_ms(db);
    return deadline_ms == 0 ? 0 : deadline_ms - SIGNING_SPARE_MS;
}
