/*
 * What the database wants to know of the network when ledgers are lost: its accounts, the leases that are
 * open, and what provisioning has under way. Read when no grant is in flight and none can begin.
 */
#ifndef FAIRWAY_INGEST_GAP_SNAPSHOT_H
#define FAIRWAY_INGEST_GAP_SNAPSHOT_H

#include "pool/submission.h"

struct gap_account {
    struct public_key key;
    bool active;
    bool submitted;              /* the pending submission names it, */
    enum provisioning_kind kind; /* and is of this kind */
    bool leased;                 /* then: */
    struct hash lease;
    int64_t lease_sequence;
};

struct gap_snapshot {
    struct gap_account *accounts; /* all that are not retired */
    size_t count;
    struct submission submission;
};

/*
 * Grants must be suspended, and that committed. Waits for those in flight (each holds the advisory lock of
 * pool/claim.c shared), as long as lock_timeout allows: ERR_DATABASE_UNAVAILABLE or ERR_SERIALIZATION.
 */
MUST_CHECK enum err gap_snapshot_take(struct db *db, struct gap_snapshot *out, struct detail *detail);
void gap_snapshot_free(struct gap_snapshot *snapshot);

#endif
