/*
 * One step of ingestion. A replica that leads fetches the ledgers that are due and commits them, or recovers
 * from a gap. One that does not lead tries to take the lead, and watches the leader.
 */
#ifndef FAIRWAY_INGEST_INGESTER_H
#define FAIRWAY_INGEST_INGESTER_H

#include "confirm.h"
#include "feed.h"
#include "funds_watch.h"
#include "ledger_commit.h"
#include "status.h"

struct ingester {
    struct feed feed;
    struct confirm confirm;
    struct lead lead;
    struct leader_watch watch;
    struct funds_watch *funds; /* borrowed */
    struct status *status;     /* borrowed */
    struct commit_log log;
    uint32_t latest;      /* the network's latest ledger, as of the RPC's last answer; 0: not known */
    uint32_t fetch_limit; /* of ledgers in the next request; at first INGESTER_FETCH_MAX */
    uint32_t logged_gap;  /* the ledger before the gap that was logged last */
};

/* Ledgers in one request; each may be megabytes. */
#define INGESTER_FETCH_MAX 10

/*
 * ERR_OK: at least one ledger was committed. ERR_LEDGER_AHEAD: none is due yet. ERR_NOT_LEADER: another
 * replica leads. All others are failures; retry.h says what follows from each.
 */
MUST_CHECK enum err ingester_step(struct ingester *ingester, struct detail *detail);

#endif
