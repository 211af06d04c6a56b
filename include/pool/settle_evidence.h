/*
 * What a ledger proves about leases and accounts, or what was read about them from the network after a gap in
 * the ledgers, in one structure. Pure functions.
 */
#ifndef FAIRWAY_POOL_SETTLE_EVIDENCE_H
#define FAIRWAY_POOL_SETTLE_EVIDENCE_H

#include "stellar/ledger.h"

/* An account as it was read from the network. */
struct account_snapshot {
    struct ledger_account account; /* removed: the network has no such account */
    uint32_t ledger;               /* as of which */
};

/* How a leased transaction ended that is in one of the lost ledgers. */
struct lease_fate {
    struct hash hash; /* the lease's */
    int32_t code;     /* TransactionResultCode, innermost */
    uint32_t ledger;
};

/* What was read from the network after a gap. */
struct gap_reads {
    struct account_snapshot *accounts;
    size_t account_count;
    struct lease_fate *fates;
    size_t fate_count;
    struct frozen_accounts frozen;
};

struct account_evidence {
    char address[ADDRESS_SIZE];
    const struct ledger_account *seen; /* NULL: only known to be frozen */
    uint32_t ledger;                   /* as of which seen holds */
    bool frozen;                       /* every transaction that touches it is invalid (CAP-77) */
};

struct settle_evidence {
    bool gap;
    uint32_t sequence; /* of the ledger that is being committed */
    uint64_t close_time_s;
    /* The innermost transactions that consumed their sequence numbers: one array for each column, of count
     * items. */
    struct bytes *hashes;
    const char **codes;
    int64_t *ledgers; /* in which they are */
    size_t count;
    struct account_evidence *accounts; /* each account once */
    const char **addresses;            /* of these accounts, in the same order */
    size_t account_count;
};

/* The result refers to the memory of the arguments. settle_evidence_free frees its own. */
struct settle_evidence settle_evidence_of_ledger(const struct ledger *ledger);
struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads);
void settle_evidence_free(struct settle_evidence *evidence);

#endif
