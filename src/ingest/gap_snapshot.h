/*
 * The part of the database that a recovery from a gap compares with the network: the accounts, their open
 * leases, and the submission of ensure-accounts.
 */
#ifndef FAIRWAY_INGEST_GAP_SNAPSHOT_H
#define FAIRWAY_INGEST_GAP_SNAPSHOT_H

#include "pool/submission.h"

struct gap_account {
    struct public_key key;
    bool active;
    bool submitted;              /* the pending submission names it, */
    enum provisioning_kind kind; /* to do this to it */
    bool leased;                 /* it has an open lease: */
    struct hash lease;
    int64_t lease_sequence;
};

struct gap_snapshot {
    struct gap_account *accounts; /* all that are not retired */
    size_t count;
    struct submission submission;
};

/* Before the call, the caller stops grants and waits for those in flight, so that none commits afterwards.
 * Free the snapshot also after an error. */
MUST_CHECK enum err gap_snapshot_read(struct db *db, struct gap_snapshot *out, struct detail *detail);
void gap_snapshot_free(struct gap_snapshot *snapshot);

#endif
