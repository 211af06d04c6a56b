/*
 * What fairway signs and what it refuses (DESIGN section 7). Pure: everything here is decided from the bytes
 * of one transaction, before any account is taken; only the membership of `named` in the pool is left for the
 * database.
 */
#ifndef FAIRWAY_STELLAR_POLICY_H
#define FAIRWAY_STELLAR_POLICY_H

#include "stellar/envelope.h"

#define POLICY_NAMED_MAX 256 /* accounts one transaction may name; more is refused */

#define LEASE_SECONDS_DEFAULT 60 /* neither the transaction nor the request says */
#define LEASE_SECONDS_MIN 20     /* a node refuses what has about 10 s left */
#define LEASE_SECONDS_MAX 300

/*
 * Accounts whose authority the transaction uses: operation sources, and addresses with Soroban credentials
 * (kinds 1, 2 and 3 with all nested delegates, muxed forms by their account). None of them may be a channel
 * account. Sorted, each once.
 */
struct named_accounts {
    size_t count;
    struct public_key keys[POLICY_NAMED_MAX];
};

struct policy_limits {
    uint32_t base_fee_stroops;        /* per operation, of the inner transaction */
    int64_t max_resource_fee_stroops; /* cap of what Soroban transactions may declare */
};

/*
 * Refuses, with code and detail: no operation or more than 100, a classic operation without a source,
 * minSeqNum, minSeqAge, minSeqLedgerGap, min time after max time; for Soroban the structural rules of DESIGN
 * 7 and source-account credentials. Fills *named on success. A fee bump is judged by its inner transaction.
 */
MUST_CHECK enum err policy_check(const struct envelope *envelope, const struct policy_limits *limits,
    struct named_accounts *named, struct detail *detail);

/* The inner fee: base fee x operations + declared resource fee. ERR_FEE_EXCEEDS_MAXIMUM when it does not fit
 * uint32. */
MUST_CHECK enum err policy_fee(const struct envelope *envelope, const struct policy_limits *limits,
    uint32_t *fee_stroops, struct detail *detail);

/*
 * The max time of the signed transaction: the earliest of the client's own (0: none), now + timeout_s (0: not
 * given) and now + 300 s; when neither is given, now + 60 s. ERR_INVALID_TRANSACTION when it is past or less
 * than 20 s away, before min time, or when ledger bounds exclude the ledgers that can close until then (tip
 * is the last ledger committed).
 */
MUST_CHECK enum err policy_max_time(const struct preconditions *preconditions, uint64_t now_s,
    uint32_t timeout_s, uint32_t tip, uint64_t *max_time_s, struct detail *detail);

/* The fee of a fee bump: base fee x (operations + 1) + resource fee, or max_fee_stroops when that is given (>
   0) and at least as high; never above cap_stroops. ERR_FEE_EXCEEDS_MAXIMUM names the maximum. */
MUST_CHECK enum err policy_bump_fee(const struct envelope *inner, const struct policy_limits *limits,
    int64_t bump_base_fee_stroops, int64_t max_fee_stroops, int64_t cap_stroops, int64_t *fee_stroops,
    struct detail *detail);

/*
 * Whether an unsigned XDR Transaction is one that a channel account `signer` may sign as a lease: it decodes,
 * its source is the plain signer, policy_check passes, signer is not among the named, its fee is at most
 * max_fee_stroops, and max time is present and at most now_s + LEASE_SECONDS_MAX. keyd's own check before
 * each signature.
 */
MUST_CHECK enum err policy_check_lease(struct bytes transaction, const struct public_key *signer,
    const struct policy_limits *limits, int64_t max_fee_stroops, uint64_t now_s, struct detail *detail);

#endif
