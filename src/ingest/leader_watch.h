/*
 * How a replica that stands by tells a leader that is gone without its session having ended (a process that
 * was stopped, a host that hangs) from one that has nothing to do. Pure but for the clock.
 */
#ifndef FAIRWAY_INGEST_LEADER_WATCH_H
#define FAIRWAY_INGEST_LEADER_WATCH_H

#include "lead.h"

struct leader_watch {
    int64_t patience_ms;
    uint32_t sequence; /* of the cursor, since: */
    int64_t since_ms;
};

/* The cursor was seen. True: it has stood still for patience_ms, and is worth a question whether a ledger is
 * due. */
bool leader_watch_saw(struct leader_watch *standby, const struct cursor_snapshot *sight, int64_t now_ms);

/* Whether to take over, the question having been answered thus. A leader that recovers from a gap commits
 * nothing for as long as that takes: it has ten times the patience. */
bool leader_watch_takes_over(const struct leader_watch *standby, enum err due, int64_t now_ms);

#endif
