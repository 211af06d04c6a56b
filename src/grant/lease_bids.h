/*
 * The bids of leases that fairway itself sends. A batch reads in its first round trip, without a lock, what
 * its clients have spent today and what the last ledger cost; a lease whose bid is above a limit is refused
 * before it gets an account. fairway.record_first_bids counts again, under the lock of each
 * client's row.
 */
#pragma once

#include "grant/lease.h"

struct lease_bids {
    const char *clients[GRANT_BATCH_MAX]; /* by grant */
    int64_t spent[GRANT_BATCH_MAX];       /* by each today, with the bids of this batch */
    int64_t lanes[GRANT_BATCH_MAX];       /* from 1 */
    int64_t prices[GRANT_BATCH_MAX];      /* of them: pool/submissions.h */
    size_t count;
    bool wanted; /* a grant submits; else nothing is read */
    struct db_param params[2];
};

/* *bids is zeroed before. */
void lease_bids_init(struct lease_bids *bids, struct grant *const grants[], size_t count);
/* Its text is NULL when no grant submits. */
struct db_statement lease_bids_statement(const struct lease_bids *bids);
void lease_bids_read(struct lease_bids *bids, const struct db_rows *rows);

/*
 * Sets the bid of grant i, which submits, on a transaction whose fee is inner_fee_stroops, and the limit that
 * refuses it. Errors as bump_choose_fee.
 */
MUST_CHECK enum err lease_bids_choose(struct lease_bids *bids, size_t i, struct grant *grant,
    const struct policy_limits *limits, uint32_t inner_fee_stroops, int64_t spendable_stroops,
    struct detail *detail);
/* Grant i gets this bid; 0: none. */
void lease_bids_take(struct lease_bids *bids, size_t i, int64_t bid_stroops);
