/*
 * How a replica that does not lead finds out that the leader has stopped working although its session still
 * has the lock (a stopped process, a host that hangs).
 */
#ifndef FAIRWAY_INGEST_LEADER_WATCH_H
#define FAIRWAY_INGEST_LEADER_WATCH_H

#include "cursor.h"
#include "feed.h"

struct leader_watch {
    int64_t stale_ms;  /* how long the cursor may stand still although a ledger is due */
    uint32_t sequence; /* the cursor has been at this ledger since: */
    int64_t since_ms;  /* clock_ms(); 0: not known */
};

/* Notes the cursor. If it has stood still for longer than the leader may take, asks the feed whether a ledger
 * is due: true means that it is, and that this replica has to take over. Blocks for the feed's answer. */
bool leader_watch_stalled(
    struct leader_watch *watch, const struct cursor_snapshot *cursor, const struct feed *feed);

/* The two steps of leader_watch_stalled, for tests. The first notes the cursor, and returns whether it has
 * stood still for stale_ms. */
bool leader_watch_note(struct leader_watch *watch, const struct cursor_snapshot *cursor, int64_t now_ms);
/* The second returns whether to take over; due is the feed's result for the next ledger. A leader that
 * recovers from a gap commits nothing meanwhile, so it gets ten times stale_ms. */
bool leader_watch_decide(const struct leader_watch *watch, enum err due, int64_t now_ms);

#endif
