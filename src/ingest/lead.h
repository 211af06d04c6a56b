/*
 * Leadership and the ledger transaction. One replica ingests at a time: it holds a session lock, and the term
 * that it wrote into the cursor row when it took the lock. The term is the fence: a ledger transaction whose
 * term is not the cursor's commits nothing, so an ingester that lost its session without noticing is
 * harmless.
 */
#ifndef FAIRWAY_INGEST_LEAD_H
#define FAIRWAY_INGEST_LEAD_H

#include "db/db.h"
#include "pool/funds.h"
#include "pool/lock_numbers.h"
#include "pool/settle.h"
#include "cursor.h"
#include "pool/submission.h"

struct lead {
    struct db *db; /* direct; opened anew by each lead_take */
    struct lock_numbers locks;
    bool synchronous;        /* no commit can be lost with a failover */
    unsigned ledger_seconds; /* expected between two ledgers */
    bool held;
    bool locked; /* this session has the lock; not so after a lead_take_over that could not get it */
    int64_t term;
    int32_t backend; /* the server process of the session that took the lead */
    struct cursor at;
    /* The distribution account as the RPC had it, for the next commit; NULL: was not read. */
    const struct account_snapshot *distribution;
};

/*
 * Becomes the leader: takes the session lock, raises the term and reads the position. ERR_NOT_LEADER: another
 * session has the lock. On an empty database lead->at stays unknown until lead_begin.
 */
MUST_CHECK enum err lead_take(struct lead *lead, struct detail *detail);

/*
 * Becomes the leader although another session has the lock and lets the cursor stand still. Raises the term
 * first: from then on that session commits no ledger. Then ends that session and takes its lock. Where the
 * role may not end it, logs what an operator has to do, and leads by the term alone: when this leader drops
 * the lead, nobody can take the lock until that session has ended or the cursor has stood still for long
 * enough again. Blocks for up to a second.
 */
MUST_CHECK enum err lead_take_over(struct lead *lead, struct detail *detail);

/* Gives the lock up, by ending the session. */
void lead_drop(struct lead *lead);

/* What is seen of the cursor by any replica. */
struct cursor_snapshot {
    bool known;
    uint32_t sequence;
    int64_t lag_s; /* database clock less the ledger's close time */
};
MUST_CHECK enum err cursor_snapshot_read(struct db *db, struct cursor_snapshot *out, struct detail *detail);

/* What a commit did, for the log. */
struct ledger_committed {
    struct settled settled;
    int64_t lag_s;
    bool hold_ended;
    bool synchronous_standby; /* is configured */
    struct funds funds;       /* of the distribution account, after this ledger */
};

/*
 * Commits one ledger, whole or not at all: its row, the cursor, the end of leases, the state of accounts and
 * what becomes of provisioning. With an unknown position it is the first one of this database. Moves
 * lead->at.
 *
 * ERR_LEDGER_MISMATCH and the errors of xdr.h: nothing was written, the ledger is not to be trusted or not to
 * be understood. ERR_NOT_LEADER: another ingester has taken over; ERR_OUTCOME_UNKNOWN: it may be committed.
 * After both, and after any database error, lead_drop and lead_take: the cursor says what is true.
 */
MUST_CHECK enum err lead_commit(
    struct lead *lead, const struct rpc_ledger *named, struct ledger_committed *out, struct detail *detail);

/* What was seen of the network behind a gap. */
struct gap_evidence {
    const struct gap_reads *reads;
    int64_t provisioning; /* id of what was pending when the network was read; 0: nothing */
    struct submission_fate fate;
};

/* The same for a ledger whose predecessors are lost, which is decoded and checked. ERR_NOT_YET: what was
 * seen is not all that there is any more. */
MUST_CHECK enum err lead_commit_after_gap(struct lead *lead, const struct ledger *ledger,
    const struct gap_evidence *gap, struct ledger_committed *out, struct detail *detail);

#endif
