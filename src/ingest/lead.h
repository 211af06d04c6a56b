/*
 * Leadership. One replica commits ledgers at a time: its session has an advisory lock, and it has written its
 * term into the cursor row. The term is the fence: a ledger transaction under another term commits nothing,
 * so a leader that lost its session without noticing does no harm.
 */
#ifndef FAIRWAY_INGEST_LEAD_H
#define FAIRWAY_INGEST_LEAD_H

#include "db/db.h"
#include "pool/lock_numbers.h"
#include "pool/settle.h"
#include "cursor.h"

struct lead {
    struct db *db; /* direct; lead_take connects it */
    struct network_id network;
    struct lock_numbers locks;
    bool synchronous;           /* DATABASE_FAILOVER=synchronous: a failover loses no commit */
    unsigned ledger_seconds;    /* expected between two ledgers */
    struct settle_notes unsure; /* not logged yet: the outcome of the COMMIT of unsure_ledger is unknown */
    uint32_t unsure_ledger;
    bool leads;  /* the rest is as of when this replica took the lead: */
    bool locked; /* false after a lead_take_over that could not get the lock */
    int64_t term;
    int32_t backend; /* the server process of the session that took the lead */
    struct cursor cursor;
    struct settle_search search; /* when to search for expired leases; in memory only */
    bool none_unread;            /* as of that ledger, no account is unread */
};

/*
 * Takes the lead: locks, raises the term and reads the cursor. ERR_NOT_LEADER: another session has the lock.
 * On an empty database the cursor stays unknown until the first ledger is committed.
 */
MUST_CHECK enum err lead_take(struct lead *lead, struct detail *detail);

/*
 * Takes the lead although another session has the lock, because its leader commits no ledgers. Raises the
 * term first: from then on that session commits nothing. Then ends that session and takes its lock; this
 * blocks for up to a second. If the role may not end it, logs what an operator has to do and leads by the
 * term alone: when this leader gives up the lead, no replica can lead until that session has ended or the
 * cursor has stood still for long enough again.
 */
MUST_CHECK enum err lead_take_over(struct lead *lead, struct detail *detail);

/* Keeps the notes of a ledger whose COMMIT had no answer, for commit_log_unsure. *notes is {0} then. */
void lead_keep_notes(struct lead *lead, uint32_t ledger, struct settle_notes *notes);

/* Gives up the lead by ending the session. */
void lead_drop(struct lead *lead);

#endif
