/* What has happened lately, for the status screen: ledgers with the leases that they ended, events, and who
 * waits. Bounded however large the database is. */
#pragma once

#include "db/db.h"

#define RECENT_LEDGERS 10
#define RECENT_EVENTS 20
#define RECENT_ENDS 5 /* as METRIC_END */

struct recent_ledger {
    uint32_t sequence;
    int64_t close_time_s, ended; /* Unix seconds; leases that it ended */
};

/* Texts are cut to fit. */
struct recent_event {
    int64_t happened_s; /* Unix seconds */
    char who[160], what[120], why[200];
};

struct recent {
    struct recent_ledger ledgers[RECENT_LEDGERS]; /* newest first */
    size_t ledger_count;
    struct recent_event events[RECENT_EVENTS]; /* newest first */
    size_t event_count;
    int64_t ends[RECENT_ENDS]; /* of the ledgers of the last hour */
    int64_t ends_over_s;       /* of that hour, what fairway has seen */
    char holder[80];           /* the client that holds most accounts; "" when none does */
    int64_t holds;
    int64_t waiting; /* requests of all replicas that have reported that accounts are short */
};

MUST_CHECK enum err recent_read(struct db *db, struct recent *out, struct detail *detail);
