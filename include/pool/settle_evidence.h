/*
 * What is known about leases and accounts after a ledger, in one structure: what the ledger proves, what its
 * metadata claims, and what was read from the network to confirm that; or what was read after a gap in the
 * ledgers. Pure functions.
 */
#ifndef FAIRWAY_POOL_SETTLE_EVIDENCE_H
#define FAIRWAY_POOL_SETTLE_EVIDENCE_H

#include "stellar/ledger.h"

/* An account as it was read from the network. */
struct account_snapshot {
    struct ledger_account account; /* removed: the network has no such account */
    uint32_t ledger;               /* as of which */
};

/* What was read from the network to confirm what a ledger's metadata claims: as of that ledger or later ones.
 */
struct settle_reads {
    struct account_snapshot *accounts; /* sorted by key, each once */
    size_t account_count;
    bool frozen_read;
    struct frozen_accounts frozen;
    bool given_up; /* nothing could be read */
};

/* What has to be read: nothing when count is 0 and frozen is not set. */
struct settle_doubts {
    struct public_key *keys; /* sorted, each once */
    size_t count;
    bool frozen; /* the list of frozen keys */
};
void settle_doubts_free(struct settle_doubts *doubts);
void settle_reads_free(struct settle_reads *reads);

/* How a leased transaction ended that is in one of the lost ledgers. */
struct lease_fate {
    struct hash hash; /* the lease's */
    struct public_key account;
    int64_t sequence;
    int32_t code; /* TransactionResultCode, innermost */
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
    struct public_key key;
    char address[ADDRESS_SIZE];
    int64_t consumed;                    /* proved: the highest sequence number consumed; 0: none */
    const struct ledger_account *seen;   /* what the metadata claims; NULL: nothing */
    const struct account_snapshot *read; /* NULL: not read */
    bool frozen;                         /* claimed: every transaction that touches it is invalid (CAP-77) */
    bool reread;                         /* it has to be read, because it could not be read before */
};

struct settle_evidence {
    bool gap;
    uint32_t sequence, protocol; /* of the ledger that is being committed */
    uint64_t close_time_s;
    /* The innermost transactions that consumed their sequence numbers: one array for each column, of count
     * items. */
    const char **sources;
    int64_t *sequences;
    struct bytes *hashes;
    const char **codes;
    int64_t *ledgers; /* in which they are */
    size_t count;
    struct account_evidence *accounts; /* each account once, sorted by key */
    const char **addresses;            /* of these accounts, in the same order */
    size_t account_count;
    char (*source_texts)[ADDRESS_SIZE]; /* the memory of sources */
};

/* The result refers to the memory of the arguments. settle_evidence_free frees its own. reads: NULL when
 * nothing was read. unread: accounts that could not be read before and have to be read now. */
struct settle_evidence settle_evidence_of_ledger(
    const struct ledger *ledger, const struct settle_reads *reads, const struct settle_doubts *unread);
struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads);
void settle_evidence_free(struct settle_evidence *evidence);

#endif
