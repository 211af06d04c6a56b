/*
 * The sum of all open bids, which a node counts against the distribution account's balance. Each replica
 * keeps it: it is read again with each ledger, and what this replica bids meanwhile is added. Bids of other
 * replicas are missing until then, so together they may bid more than the account can spend: a node refuses
 * that, and the same bytes go out after the next ledger. Counts rather too much than too little: what a batch
 * bids counts from its choice on, also if it fails.
 */
#ifndef FAIRWAY_GRANT_OPEN_BIDS_H
#define FAIRWAY_GRANT_OPEN_BIDS_H

#include "grant/grant.h"

/* Zeroed before. A batch that sees one member changed and another one not yet only reads once more. */
struct open_bids {
    _Atomic uint32_t ledger; /* the last one that this replica had seen at the last reading */
    _Atomic int64_t read_ms; /* of that; 0: never */
    _Atomic int64_t before;  /* what was read, less the bids of batches that had ended when it began */
    _Atomic int64_t made;    /* by all batches */
    _Atomic int64_t ended;   /* of these, by those that have ended */
};

/* One batch. */
struct open_bids_batch {
    struct open_bids *all, own;
    uint32_t ledger;
    bool reads; /* its first statement is to read the sum (pool/submissions.h) */
    int64_t ended_before, bids;
};

void open_bids_begin(struct open_bids_batch *batch, const struct grant_settings *settings);
/* What the batch has read. */
void open_bids_found(struct open_bids_batch *batch, int64_t stroops);
int64_t open_bids_sum(const struct open_bids_batch *batch);
void open_bids_add(struct open_bids_batch *batch, int64_t stroops);
void open_bids_end(struct open_bids_batch *batch);

#endif
