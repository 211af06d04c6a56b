/*
 * Maps the result of a step of ingestion to what follows: how long the thread pauses, whether this replica
 * keeps the lead, and what the status says.
 */
#pragma once

#include <stdbool.h>

#include "base/backoff.h"
#include "base/err.h"

enum retry_class {
    RETRY_FINE,        /* nothing has failed */
    RETRY_UNAVAILABLE, /* the RPC or the database is unavailable, or the outcome of a COMMIT is unknown */
    RETRY_STOPPED,     /* an operator has to act; retried now and then */
};
enum retry_class retry_class(enum err e);

struct retry {
    unsigned poll_ms;
    struct backoff backoff;
};

/* Notes the result of a step and returns the milliseconds until the next one; after ERR_OK and
 * ERR_LEDGER_AHEAD ingester_pause_ms knows better. Pauses after failures grow
 * until a ledger is committed or none is due: neither the loss of the lead nor the wait for it ends a
 * failure. */
unsigned retry_pause_ms(struct retry *retry, enum err e);

/*
 * Returns whether a leader keeps the lead after a step with this result. It gives up the lead when it has
 * lost it: with its session (session_open), which had the lock, or to another replica. And when it does not
 * know what was committed: the next lead begins with the cursor.
 *
 * No other error is a reason. Most of what fails here fails in the other replicas too: the RPC is
 * unavailable, the database's disk is full, a ledger has a newer protocol. A replica that can do better takes
 * over: it sees that a ledger is due and that the cursor stands still (leader_watch, lead.h).
 */
bool retry_keeps_lead(enum err e, bool session_open);
