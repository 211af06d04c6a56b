/*
 * What the distribution account, which pays for every transaction, can still spend, as it was last read from
 * the RPC. The ledger transaction writes it into one row; grants, fee bumps and probes read it. While the
 * balance is unknown, because the account has not been read yet, nothing is refused.
 */
#pragma once

#include "db/db.h"
#include "stellar/account.h"

/* "A payment" means a fee bump of one operation. */
struct funds_limits {
    int64_t payment_stroops; /* cost of one: 2 x FEE_BUMP_BASE_FEE; 0: no limits */
    int64_t low_payments;    /* if it can pay for fewer, operators are warned */
    int64_t min_payments;    /* if it can pay for fewer, no lease is granted */
};

struct funds {
    bool bound; /* the database has a distribution account: account is set */
    struct public_key account;
    bool known;      /* what follows is set */
    uint32_t ledger; /* as of which */
    int64_t balance_stroops, selling_stroops, base_reserve_stroops;
    int64_t reserves; /* a number of base reserves: see stellar/account.h */
    int64_t spendable_stroops;
    bool cannot_sign; /* as in struct account_entry */
};

/* Takes over a read of an account as of a ledger. Returns false, with nothing changed, if it is of another
 * account than ours. A read of an earlier ledger than is known counts too: the last one may have named a
 * wrong ledger, and the next one follows soon. */
bool funds_take(
    struct funds *funds, const struct account_entry *read, uint32_t ledger, int64_t base_reserve_stroops);

int64_t funds_payments(const struct funds *funds, const struct funds_limits *limits);

enum funds_level {
    FUNDS_UNKNOWN,
    FUNDS_OK,
    FUNDS_LOW,        /* below low_payments */
    FUNDS_TOO_LOW,    /* below min_payments */
    FUNDS_CANNOT_SIGN /* no payment goes out */
};
enum funds_level funds_level(const struct funds *funds, const struct funds_limits *limits);

/* A column for other statements: what can be spent, in stroops, or one of these. */
#define FUNDS_SPENDABLE                                                                                      \
    "coalesce((SELECT CASE WHEN f.cannot_sign THEN -2 ELSE f.spendable END FROM fairway.funds f"             \
    " ORDER BY f.only_row DESC LIMIT 1), -1)"
#define FUNDS_NOT_KNOWN (-1)
#define FUNDS_NO_SIGNER (-2)
int64_t funds_spendable(const struct funds *funds);

/* Given that column: whether a lease may be granted; whether the account can pay this fee bump.
 * ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED: detail has the amounts. ERR_GRANTS_SUSPENDED: its key cannot sign. */
MUST_CHECK enum err funds_check_lease(
    int64_t spendable_stroops, const struct funds_limits *limits, struct detail *detail);
MUST_CHECK enum err funds_check_bump(int64_t spendable_stroops, int64_t fee_stroops, struct detail *detail);

/* The statement that reads the row, for a pipeline with others, and the reader of its result. */
extern const char funds_sql[];
MUST_CHECK enum err funds_read(const struct db_rows *rows, struct funds *out, struct detail *detail);

/* For the ledger transaction. */
MUST_CHECK enum err funds_write(struct db *db, const struct funds *funds, struct detail *detail);
