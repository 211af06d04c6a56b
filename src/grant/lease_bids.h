/*
 * The bids of leases that fairway itself sends. A batch reads in its first round trip, without a lock, what
 * its clients have spent today and the sum of the open bids; a lease whose bid is above a limit is refused
 * before it gets an account. fairway.record_lease_bids counts again, under the lock of each client's row.
 */
#ifndef FAIRWAY_GRANT_LEASE_BIDS_H
#define FAIRWAY_GRANT_LEASE_BIDS_H

#include "grant/grant.h"

struct lease_bids {
    const char *clients[GRANT_BATCH_MAX]; /* by grant */
    int64_t spent[GRANT_BATCH_MAX];       /* by each today, with the bids of this batch */
    size_t count;
    bool wanted;          /* a grant submits; else nothing is read */
    int64_t open_stroops; /* of all open bids, with those of this batch */
    struct db_param params[1];
};

/* *bids is zeroed before. */
void lease_bids_init(struct lease_bids *bids, struct grant *const grants[], size_t count);
/* Its text is NULL when no grant submits. */
struct db_statement lease_bids_statement(const struct lease_bids *bids);
void lease_bids_read(struct lease_bids *bids, const struct db_rows *rows);

/*
 * Sets the bid of grant i, which submits, on a transaction whose fee is inner_fee_stroops: that of any
 * submission (bump_first_bid). Sets the grant's limit when one refuses it. Errors: as policy_bump_fee,
 * limit_refuse and funds_check_bump.
 */
MUST_CHECK enum err lease_bids_choose(const struct lease_bids *bids, size_t i, struct grant *grant,
    const struct policy_limits *limits, uint32_t inner_fee_stroops, int64_t spendable_stroops,
    struct detail *detail);
/* Grant i gets this bid; 0: none. */
void lease_bids_take(struct lease_bids *bids, size_t i, int64_t bid_stroops);

/* The bids of leases to record, one array for each parameter of the statement. */
struct lease_bids_columns {
    struct bytes hash[GRANT_BATCH_MAX], lease[GRANT_BATCH_MAX], envelope[GRANT_BATCH_MAX],
        bid_envelope[GRANT_BATCH_MAX];
    char address[GRANT_BATCH_MAX][ADDRESS_SIZE];
    const char *account[GRANT_BATCH_MAX], *client[GRANT_BATCH_MAX];
    int64_t fee[GRANT_BATCH_MAX], stroops_max[GRANT_BATCH_MAX], max_fee[GRANT_BATCH_MAX];
    size_t count;
    struct db_param params[9];
};
/* Adds the lease's bid, if it has one. */
void lease_bids_add(
    struct lease_bids_columns *columns, const struct lease *lease, const struct lease_request *request);
/* Records them, after record_leases in its transaction. ERR_SERIALIZATION: a client has spent since the batch
 * began; when it runs again, it refuses what is too much. */
struct db_statement lease_bids_record(struct lease_bids_columns *columns);

#endif
