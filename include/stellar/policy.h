/*
 * Which transactions fairway signs. The decision depends only on the bytes of the transaction and on limits,
 * and is made before an account is claimed. One check comes later, in the database: that no account in
 * `named` belongs to the pool.
 */
#pragma once

#include "stellar/envelope.h"

#define POLICY_NAMED_MAX 256 /* accounts that one transaction may name */

#define LEASE_SECONDS_DEFAULT 60 /* when neither transaction nor request has a limit */
#define LEASE_SECONDS_MIN 20     /* a node refuses a transaction that expires within about 10 s */
#define LEASE_SECONDS_MAX 300

/* maxLedger must allow this many ledgers after the tip: the first may close before the client has signed. */
#define LEASE_LEDGERS_MIN 2
/* A minLedger that needs a higher rate is out of reach. Today a ledger takes at least 4 s. */
#define LEDGERS_PER_SECOND_MAX 1

/*
 * The largest envelopes that the network takes, in bytes. Soroban: txMaxSizeBytes, a setting on which the
 * network votes (132,096 since SLP-4; TransactionFrame::checkSorobanResources). Classic:
 * MAX_CLASSIC_TX_SIZE_BYTES of stellar-core's overlay.
 */
#define SOROBAN_ENVELOPE_MAX 132096
#define CLASSIC_ENVELOPE_MAX (100 * 1024)

/* A declared resource fee may be at most this many times what a simulation finds. */
#define RESOURCE_FEE_FACTOR_MAX 2

/*
 * The accounts whose authority a transaction uses or extends: operation sources, addresses with Soroban
 * credentials (kinds 1, 2 and 3 with all nested delegates), deployers of contracts, the keys of extra
 * signers, and keys that SetOptions adds as signers. A muxed account counts as its account. None of them may
 * be a channel account or the distribution account. Each once.
 */
struct named_accounts {
    size_t count;
    struct public_key keys[POLICY_NAMED_MAX];
};

struct policy_limits {
    uint32_t base_fee_stroops;        /* per operation, of the inner transaction */
    int64_t max_resource_fee_stroops; /* the most that a Soroban transaction may declare */
    struct public_key distribution;   /* the distribution account, which must not be named */
    /* For the check that a fee bump of the lease is possible. 0 in keyd, which does not make that check. */
    int64_t bump_base_fee_stroops; /* of fee bumps, per operation */
    int64_t max_bump_fee_stroops;  /* of a fee bump, without the resource fee; 0: not checked */
};

/*
 * Returns ERR_OK and fills *named when the transaction may be signed as a lease; else an error with detail.
 * Of a fee bump, checks the inner transaction. Allocates nothing.
 *
 * ERR_INVALID_OPERATION_STRUCTURE: no operation (more than 100 do not decode), an operation of an unknown
 * kind, or one without a source, which would act for the channel account. One kind may have no source: an
 * InvokeHostFunction that is the only operation, none of whose authorization entries has the credentials of
 * the source account. Whatever it calls, the network grants the authority of the transaction's source only
 * for such an entry (CAP-46-11), so that of the channel account is out of its reach.
 *
 * ERR_SOURCE_CREDENTIALS_NOT_ALLOWED: one of its entries has them.
 *
 * ERR_INVALID_SOROBAN_TRANSACTION: more than one operation, SorobanTransactionData missing or not allowed, a
 * memo or a muxed source with InvokeHostFunction, a footprint that the operation cannot have, a negative
 * resource fee, or an unknown kind of host function, credentials, address or contract id.
 *
 * ERR_FORBIDDEN_SIGNER: the distribution account is in *named.
 *
 * ERR_FEE_EXCEEDS_MAXIMUM: the resource fee, the inner fee, or the least fee of a fee bump is above its
 * maximum. A lease that cannot be paid for would only occupy its account.
 *
 * ERR_INVALID_TRANSACTION: minSeqNum, minSeqAge or minSeqLedgerGap, bounds that no ledger can meet, extra
 * signers that the protocol calls malformed or that nobody can satisfy, or an envelope that is larger than
 * the network takes. A muxed source of the transaction is allowed: it is replaced.
 */
MUST_CHECK enum err policy_check(const struct envelope *envelope, const struct policy_limits *limits,
    struct named_accounts *named, struct detail *detail);

/* For an account of *named that may not be used: returns ERR_FORBIDDEN_SIGNER, and in detail the account. */
MUST_CHECK enum err policy_refuse_account(
    const struct policy_limits *limits, const struct public_key *account, struct detail *detail);

/* Whether the first operation is InvokeHostFunction, the only kind that has authorization entries. */
bool policy_invokes(const struct envelope *envelope);
/* Whether it has no source besides: authorization entries alone say who wants the call. */
bool policy_invokes_for_entries(const struct envelope *envelope);
/* Writes the contract (C...) that the only operation invokes; '' when the transaction does anything else. */
void policy_invoked_contract(const struct envelope *envelope, char out[static ADDRESS_SIZE]);

/* The inner fee: base fee x operations + declared resource fee. ERR_FEE_EXCEEDS_MAXIMUM when it does not fit
 * uint32, or the resource fee is above its limit. ERR_INVALID_SOROBAN_TRANSACTION: that fee is negative. */
MUST_CHECK enum err policy_fee(const struct envelope *envelope, const struct policy_limits *limits,
    uint32_t *fee_stroops, struct detail *detail);

/* Compares the declared resource fee with the least fee that a simulation of the transaction has found.
 * ERR_RESOURCES_OUTDATED: it is more than RESOURCE_FEE_FACTOR_MAX times as high. */
MUST_CHECK enum err policy_check_simulated_fee(
    const struct envelope *envelope, int64_t simulated_stroops, struct detail *detail);

/*
 * The max time of the signed transaction: the earliest of the client's (0: none), now + timeout_s (0: none)
 * and now + 300 s; now + 60 s when the first two are not given. ERR_INVALID_TRANSACTION when it is less than
 * 20 s away or before min time, or when the ledger bounds exclude all ledgers that can close until then. tip
 * is the last committed ledger. No argument value overflows.
 */
MUST_CHECK enum err policy_max_time(const struct preconditions *preconditions, uint64_t now_s,
    uint32_t timeout_s, uint32_t tip, uint64_t *max_time_s, struct detail *detail);

/* ERR_AUTHORIZATION_EXPIRES: the last ledger in which all authorization entries count leaves fewer than
 * LEASE_LEDGERS_MIN ledgers after the tip. */
MUST_CHECK enum err policy_check_expiry(uint32_t expires_ledger, uint32_t tip, struct detail *detail);

/*
 * What determined max_time_s, a result of policy_max_time: "transaction" (its own max time),
 * "timeoutSeconds", "limit" (300 s from now) or "default" (60 s from now). Independent of the time, so that a
 * retry gets the same text.
 */
const char *policy_max_time_set_by(
    const struct preconditions *preconditions, uint32_t timeout_s, uint64_t max_time_s);

/*
 * The fee of a fee bump. The least fee is base fee x (operations + 1) + resource fee, or, if higher, the fee
 * with the same rate per operation as inner's (CAP-15: a lower rate is txINSUFFICIENT_FEE). The fee is the
 * least fee, or max_fee_stroops when it is given (not 0), so that a client can bid higher.
 * ERR_FEE_EXCEEDS_MAXIMUM, with the maximum in detail: the fee is above cap_stroops, or the resource fee is
 * above its limit. ERR_FEE_BELOW_MINIMUM, with the least fee in detail: max_fee_stroops is below it.
 */
MUST_CHECK enum err policy_bump_fee(const struct envelope *inner, const struct policy_limits *limits,
    int64_t bump_base_fee_stroops, int64_t max_fee_stroops, int64_t cap_stroops, int64_t *fee_stroops,
    struct detail *detail);

/*
 * keyd's check before each signature of a lease or of its fee bump: whether the channel account `signer` may
 * sign the transaction as a lease. Its source is signer (not muxed), policy_check passes, signer is not in
 * *named, the fee is at most max_fee_stroops, and max time is set and at most now_s + LEASE_SECONDS_MAX.
 */
MUST_CHECK enum err policy_check_lease(const struct envelope *transaction, const struct public_key *signer,
    const struct policy_limits *limits, int64_t max_fee_stroops, uint64_t now_s, struct detail *detail);
