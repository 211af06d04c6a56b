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

/* maxLedger must admit so many ledgers after the tip: the first may close before the client has signed. */
#define LEASE_LEDGERS_MIN 2
/* A minLedger that is further away is out of reach. Generous: today a ledger takes 4 s or more. */
#define LEDGERS_PER_SECOND_MAX 1

/*
 * Accounts whose authority the transaction uses: operation sources, addresses with Soroban credentials (kinds
 * 1, 2 and 3 with all nested delegates), deployers of contracts, and keys that extra signers ask for; muxed
 * forms by their account. None of them may be a channel account. Sorted, each once.
 */
struct named_accounts {
    size_t count;
    struct public_key keys[POLICY_NAMED_MAX];
};

struct policy_limits {
    uint32_t base_fee_stroops;        /* per operation, of the inner transaction */
    int64_t max_resource_fee_stroops; /* cap of what Soroban transactions may declare */
    /* Of the fee bump that a lease needs. keyd leaves both 0: it is told the fee of each fee bump. */
    int64_t bump_base_fee_stroops; /* per operation, that fee bumps offer */
    int64_t max_bump_fee_stroops;  /* cap of a fee bump, besides the resource fee; 0: not checked */
};

/*
 * Refuses, with detail, what DESIGN 7 says must not be signed; fills *named on success. A fee bump is judged
 * by its inner transaction. Allocates nothing.
 *
 * ERR_INVALID_OPERATION_STRUCTURE: no operation (more than 100 do not decode), or a classic one without a
 * source.
 *
 * ERR_INVALID_SOROBAN_TRANSACTION: not exactly one operation, SorobanTransactionData missing or out of place,
 * a memo or a muxed source on InvokeHostFunction, a negative resource fee, unknown kinds of credentials.
 *
 * ERR_FORBIDDEN_SIGNER: source-account credentials in an operation without a source. In one with a source
 * they are that source's, which is named.
 *
 * ERR_FEE_EXCEEDS_MAXIMUM: the resource fee, the inner fee, or the least fee of a fee bump for the
 * transaction: a lease that nobody can pay for would only hold its account.
 *
 * ERR_INVALID_TRANSACTION: minSeqNum, minSeqAge, minSeqLedgerGap, bounds that nothing can meet, extra signers
 * that the protocol calls malformed. A muxed source of the transaction itself is no fault: it is replaced.
 */
MUST_CHECK enum err policy_check(const struct envelope *envelope, const struct policy_limits *limits,
    struct named_accounts *named, struct detail *detail);

/* Returns ERR_FORBIDDEN_SIGNER, with which operation or extra signer uses the account in detail, for one of
 * the named accounts of a transaction that policy_check has passed. */
MUST_CHECK enum err policy_refuse_account(const struct envelope *envelope, const struct policy_limits *limits,
    const struct public_key *account, struct detail *detail);

/*
 * Whether the network demands a signature beside the channel account's: an operation has a source of its own,
 * or there are extra signers.
 */
bool policy_client_must_sign(const struct envelope *envelope);

/* The inner fee: base fee x operations + declared resource fee. ERR_FEE_EXCEEDS_MAXIMUM when it does not fit
 * uint32. */
MUST_CHECK enum err policy_fee(const struct envelope *envelope, const struct policy_limits *limits,
    uint32_t *fee_stroops, struct detail *detail);

/*
 * The max time of the signed transaction: the earliest of the client's own (0: none), now + timeout_s (0: not
 * given) and now + 300 s; when neither is given, now + 60 s. ERR_INVALID_TRANSACTION when it is past or less
 * than 20 s away, before min time, or when ledger bounds exclude the ledgers that can close until then (tip
 * is the last ledger committed). Any value of any argument is safe.
 */
MUST_CHECK enum err policy_max_time(const struct preconditions *preconditions, uint64_t now_s,
    uint32_t timeout_s, uint32_t tip, uint64_t *max_time_s, struct detail *detail);

/*
 * Which of them set max_time_s, a result of policy_max_time: "transaction" (its own max time),
 * "timeoutSeconds", "limit" (300 s from now), "default" (60 s from now). It does not depend on the time, so a
 * retry gets the same text.
 */
const char *policy_max_time_set_by(
    const struct preconditions *preconditions, uint32_t timeout_s, uint64_t max_time_s);

/*
 * The fee of a fee bump. The least is base fee x (operations + 1) + resource fee, or what keeps the rate of
 * inner's own fee over one operation more, if that is higher (CAP-15: a lower rate is txINSUFFICIENT_FEE).
 * max_fee_stroops (0: not given) takes its place, so that a client can bid higher. ERR_FEE_EXCEEDS_MAXIMUM,
 * with the maximum in detail, when the fee is above cap_stroops or the resource fee is above its limit.
 * ERR_FEE_BELOW_MINIMUM, with the least in detail, when max_fee_stroops is below it.
 */
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
