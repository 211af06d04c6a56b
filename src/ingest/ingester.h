/*
 * One step of ingestion. A replica that leads fetches the ledgers that are due and commits them, or recovers
 * from a gap. One that does not lead tries to take the lead, and watches the leader.
 */
#pragma once

#include "upkeep/audit.h"
#include "upkeep/funds_watch.h"
#include "follow.h"
#include "ledger_commit.h"
#include "pace.h"
#include "status.h"

struct ingester {
    struct follow follow;
    struct lead lead;
    struct leader_watch watch;
    struct funds_watch *funds;     /* borrowed */
    struct audit *audit;           /* borrowed */
    struct status *status;         /* borrowed */
    struct cursor_snapshot seen;   /* the last that this replica has read from the database, or committed */
    _Atomic uint32_t *seen_ledger; /* see ingest/ingest.h */
    struct pace pace;
    uint32_t first;      /* with which an empty database begins; 0: not known yet */
    uint32_t refuted;    /* the last ledger that was found to be forged; 0: none */
    uint32_t logged_gap; /* the ledger before the gap that was logged last */
};

/*
 * ERR_OK: a ledger was committed. ERR_LEDGER_AHEAD: none is due yet. ERR_NOT_LEADER: another
 * replica leads. All others are failures; retry.h says what follows from each.
 */
MUST_CHECK enum err ingester_step(struct ingester *ingester, struct detail *detail);

/* The pause after a step that has returned ERR_OK or ERR_LEDGER_AHEAD, until the RPC may have the next
 * ledger. */
unsigned ingester_pause_ms(const struct ingester *ingester, enum err e, unsigned poll_ms);
