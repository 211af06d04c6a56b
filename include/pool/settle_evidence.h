/*
 * What is known about leases and accounts after a ledger, in one structure: what the ledger proves, or what
 * was read after a gap in the ledgers. Pure functions.
 */
#pragma once

#include "pool/provisioning.h"
#include "stellar/account.h"
#include "stellar/frozen.h"
#include "stellar/ledger.h"
#include "stellar/result.h"

/* An account as it was read from the network. */
struct account_snapshot {
    struct account_entry account; /* removed: the network has no such account */
    uint32_t ledger;              /* as of which */
};

/* How a leased transaction ended that is in one of the lost ledgers. */
struct lease_fate {
    struct hash hash; /* the lease's */
    struct public_key account;
    int64_t sequence;
    int32_t code; /* TransactionResultCode, innermost */
    uint32_t ledger;
    struct result_kept result;
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
    struct public_key key; /* first: see public_key_compare */
    char address[ADDRESS_SIZE];
    /* Of a ledger: */
    int64_t consumed; /* the highest sequence number consumed; 0: none */
    bool created, merged;
    /* The source of operations of transactions other than those of pending provisioning: of the end of a
     * sponsorship, which is a part of every creation; of any other. */
    bool ended_sponsoring, acted;
    /* After a gap; else NULL and false: */
    const struct account_snapshot *read;
    bool frozen; /* every transaction that touches it is invalid (CAP-77) */
};

/* An innermost transaction that consumed its sequence number. */
struct transaction_evidence {
    struct hash hash; /* first: see hash_compare */
    char source[ADDRESS_SIZE];
    const char *code;
    uint32_t ledger;                    /* in which it is */
    const struct public_key *bumped_by; /* the fee source of its fee bump; NULL: none, or it is not known */
    const struct ledger_transaction *found; /* in the ledger; NULL after a gap, */
    const struct lease_fate *fate;          /* when this is what was read */
};

struct settle_evidence {
    bool gap;
    uint32_t sequence; /* of the ledger that is being committed */
    uint64_t close_time_s;
    struct transaction_evidence *transactions; /* sorted by hash */
    size_t transaction_count;
    struct account_evidence *accounts; /* each account once, sorted by address */
    const char **addresses;            /* of these accounts, in the same order */
    size_t account_count;
};

/* The result refers to the memory of the arguments. settle_evidence_free frees its own. provisioning: the
 * pending ones; NULL: none. */
struct settle_evidence settle_evidence_of_ledger(
    const struct ledger *ledger, const struct provisioning_list *provisioning);
struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads);
void settle_evidence_free(struct settle_evidence *evidence);

/* NULL: none has this hash. */
const struct transaction_evidence *settle_evidence_find(
    const struct settle_evidence *evidence, const struct hash *hash);
