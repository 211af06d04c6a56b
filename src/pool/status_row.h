/* One lease as clients see it: the columns, and the row that they make. Shared by the single look-up and the
 * watch. */
#ifndef FAIRWAY_POOL_STATUS_ROW_H
#define FAIRWAY_POOL_STATUS_ROW_H

#include "pool/status.h"

/* Of fairway.leases l LEFT JOIN fairway.ledgers g. */
#define LEASE_STATUS_COLUMNS                                                                                 \
    "l.hash, l.account, l.sequence, l.max_time, coalesce(l.result, 'pending'), l.result_code,"               \
    " coalesce(l.ledger, 0), coalesce(g.close_time, 0)"
#define LEASE_STATUS_COLUMN_COUNT 8

MUST_CHECK enum err lease_status_row(const struct db_rows *rows, size_t row, struct lease_status *out);

/* A text column, '' for NULL, cut to fit. */
void status_copy(char *out, size_t size, const struct db_rows *rows, size_t row, int column);

#endif
