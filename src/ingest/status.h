/* What ingestion says about itself, to /readyz and to the log: written by its thread, read by any. */
#ifndef FAIRWAY_INGEST_STATUS_H
#define FAIRWAY_INGEST_STATUS_H

#include <pthread.h>

#include "base/err.h"
#include "lead.h"

struct status {
    pthread_mutex_t mutex;
    int64_t lag_limit_s;
    struct cursor_snapshot sight; /* of the cursor, at seen_ms */
    int64_t seen_ms;
    unsigned failures; /* in a row */
    bool stopped;      /* by something that no retry mends */
    struct detail problem;
    int64_t complain_ms; /* when an unchanged problem is logged again */
};

void status_init(struct status *status, unsigned ledger_seconds);
void status_wipe(struct status *status);

/* The cursor was seen. */
void status_saw(struct status *status, const struct cursor_snapshot *sight);
/* All is well, as far as this step went. */
void status_well(struct status *status);
/* Something failed; stopped: ingestion stands until somebody acts. Logs what is new, and what lasts, now and
 * then. */
void status_failed(struct status *status, enum err e, bool stopped, const struct detail *detail);

bool status_ready(struct status *status, struct detail *why);

#endif
