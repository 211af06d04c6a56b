/* How ingestion is doing in this replica, for /readyz and for the log. The ingest thread writes it; any
 * thread reads it. */
#pragma once

#include <pthread.h>

#include "base/err.h"
#include "cursor.h"

struct status {
    pthread_mutex_t mutex;
    int64_t lag_limit_s;
    struct cursor_snapshot cursor; /* as of read_ms */
    int64_t read_ms;               /* clock_ms(); 0: not read yet */
    int64_t moved_ms;              /* clock_ms() when a ledger was seen committed; 0: not yet */
    unsigned failures;             /* in a row */
    bool stopped;                  /* an operator has to act */
    enum err error;                /* of the last failure */
    struct detail problem;
    enum err idle;        /* why the last step without a failure had nothing to commit, */
    struct detail waits;  /* and for what */
    int64_t log_again_ms; /* when the same problem is logged again */
};

void status_init(struct status *status, unsigned ledger_ms);
void status_wipe(struct status *status);

/* Notes the cursor as it was read, or as this replica has committed it. When it has moved, ledgers are
 * committed, by whichever replica: logs the recovery then, if ingestion was not ready, because nothing but a
 * committed ledger shows one. */
void status_cursor(struct status *status, const struct cursor_snapshot *cursor, bool committed);
/* Notes a step without a failure that had nothing to commit: ERR_LEDGER_AHEAD, with what is waited for if it
 * is not the network, or ERR_NOT_LEADER. */
void status_idle(struct status *status, enum err e, const struct detail *detail);
/* Notes a step that failed. stopped: ingestion commits nothing until an operator has acted. Logs a new
 * problem at once, and the same one every minute. Texts that differ only in digits are the same problem: the
 * numbers may be of this attempt, as in "timed out after 5001 ms". */
void status_failed(struct status *status, enum err e, bool stopped, const struct detail *detail);

/* Whether ledgers are committed, by whichever replica leads. True also while a gap is caught up with, or
 * under a clock that is wrong: then grants are refused for their own reason. False: *why (may be NULL) has
 * the reason. */
bool status_ready(struct status *status, struct detail *why);
