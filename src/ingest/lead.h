/*
 * Leadership. One replica commits ledgers at a time: its session has an advisory lock, and it has written its
 * term into the cursor row. The term is the fence: a ledger transaction under another term commits nothing,
 * so a leader that lost its session without noticing does no harm.
 */
#pragma once

#include "db/db.h"
#include "pool/lock_numbers.h"
#include "pool/settle.h"
#include "cursor.h"
#include "follow.h"

struct lead {
    struct db *db; /* direct; lead_take connects it */
    struct network_id network;
    struct lock_numbers locks;
    bool synchronous;                    /* DATABASE_FAILOVER=synchronous: a failover loses no commit */
    unsigned ledger_ms;                  /* expected between two ledgers */
    struct lease_ends_listener listener; /* of this process; not told after a gap */
    bool leads;                          /* the rest is as of when this replica took the lead: */
    bool locked;                         /* false after a lead_take_over that could not get the lock */
    int64_t term;
    int32_t backend; /* the server process of the session that took the lead */
    struct cursor cursor;
    struct settle_search search;
};

/*
 * Takes the lead: locks, raises the term and reads the cursor. ERR_NOT_LEADER: another session has the lock.
 * On an empty database the cursor stays unknown until the first ledger is committed.
 */
MUST_CHECK enum err lead_take(struct lead *lead, struct detail *detail);

/*
 * Takes the lead although another session has the lock, because its leader commits no ledgers. Raises the
 * term first, when that is still seen_term (ERR_NOT_LEADER: another replica has raised it): from then on that
 * session commits nothing. Then ends that session and takes its lock; this
 * blocks for up to a second. If the role may not end it, logs what an operator has to do and leads by the
 * term alone: when this leader gives up the lead, no replica can lead until that session has ended or the
 * cursor has stood still for long enough again.
 */
MUST_CHECK enum err lead_take_over(struct lead *lead, int64_t seen_term, struct detail *detail);

/* Gives up the lead by ending the session. */
void lead_drop(struct lead *lead);
/* Frees what it has, also its db. */
void lead_free(struct lead *lead);

/*
 * How a replica that does not lead finds out that the leader has stopped working although its session still
 * has the lock (a stopped process, a host that hangs).
 */
struct leader_watch {
    int64_t look_ms;   /* the cursor has stood still for so long: RPCs are asked whether a ledger is due, */
    int64_t stale_ms;  /* and for so long: this replica takes over when one is */
    uint32_t sequence; /* the cursor has been at this ledger, under this term, since: */
    int64_t term;
    int64_t since_ms; /* clock_ms(); 0: not known */
    uint32_t led;     /* this replica has led at this ledger, and did not commit the next one; 0: none */
};

/* Notes the cursor. If it has stood still for look_ms, looks whether a ledger is due: true means that it is,
 * and that this replica holds what it needs to commit it, and has to take over. Blocks for answers of RPCs.
 */
bool leader_watch_stalled(
    struct leader_watch *watch, const struct cursor_snapshot *cursor, struct follow *follow);

/* The two steps of leader_watch_stalled, for tests. The first notes the cursor, and returns whether it has
 * stood still for look_ms. */
bool leader_watch_note(struct leader_watch *watch, const struct cursor_snapshot *cursor, int64_t now_ms);
/* The second returns whether to take over; due is follow_next's result, and latest the network's ledger. With
 * two that are due, at once: no leader that works leaves them. A leader that recovers from a gap commits
 * nothing meanwhile, so it gets ten times stale_ms. One that stands where this replica stood before gets
 * three times stale_ms: probably neither can commit, and each change of the lead is noise. */
bool leader_watch_decide(const struct leader_watch *watch, enum err due, uint32_t latest, int64_t now_ms);
