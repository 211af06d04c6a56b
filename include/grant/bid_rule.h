/*
 * What fairway bids for a submission: src/README.md has this as a table. Nothing else decides it. Pure: no
 * lock, database or clock. All amounts are whole fees in stroops, unless they say otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* A node drops what has been queued for so many closes, silently. */
#define BID_LEDGERS 4
/* At the cap, so many bids below it come before it is bid again: a node bans a hash for 10 closes. */
#define BID_CYCLE 16
/* A client that gives no maxFee allows so many times FEE_BUMP_BASE_FEE an operation. */
#define BID_CAP_FACTOR 20

struct bid_terms {
    int64_t operations; /* a fee bump counts as one more */
    int64_t resource_stroops;
    int64_t least_stroops; /* of FEE_BUMP_BASE_FEE an operation */
    int64_t floor_stroops; /* the least that the network takes */
    int64_t cap_stroops;   /* at least least_stroops */
    int64_t price_stroops; /* an operation, of the last ledger in the transaction's lane; 0: it had room */
};

/* The bids before. */
struct bid_history {
    int64_t asked_stroops; /* by a node that has refused the last one; 0: nodes have dropped or rejected it */
    int64_t highest_stroops, last_stroops; /* of all; the one that is followed */
};

int64_t bid_first(const struct bid_terms *terms);

/* The bid that follows. It is the last one again when the network takes none lower, and the cap none higher.
 */
int64_t bid_raise(const struct bid_terms *terms, const struct bid_history *history);

/* Whether a bid that was first sent `ledgers` before has to be followed by another one. asked_stroops: as in
 * bid_history; earlier: the lease's other bids, each as 8 bytes, big-endian. */
bool bid_is_lost(int64_t ledgers, int64_t asked_stroops, int64_t resource_stroops, struct bytes earlier);
