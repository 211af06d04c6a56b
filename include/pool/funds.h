/*
 * What the distribution account, which pays for every transaction, can still spend. The ledger transaction
 * keeps it in one row (ingest/lead.h); grants, fee bumps and probes read it. Unknown is not underfunded:
 * until the RPC has told the account once, everything is allowed.
 */
#ifndef FAIRWAY_POOL_FUNDS_H
#define FAIRWAY_POOL_FUNDS_H

#include "db/db.h"
#include "stellar/ledger.h"

/* In payments: fee bumps of one operation at the going fee. */
struct funds_limits {
    int64_t payment_stroops; /* what one costs: 2 x FEE_BUMP_BASE_FEE; 0: nothing is limited */
    int64_t low_payments;    /* fewer: somebody should be told */
    int64_t min_payments;    /* fewer: no lease is granted */
};

struct funds {
    bool bound; /* the database names its distribution account: */
    struct public_key account;
    bool known; /* what follows */
    uint32_t ledger;
    int64_t balance_stroops, selling_stroops, base_reserve_stroops;
    int64_t reserves; /* see stellar/ledger.h */
    int64_t spendable_stroops;
};

/* What core lets the account pay as fees: its balance, less the reserves that it must keep and what its
 * offers sell. Never below 0. */
int64_t funds_spendable(const struct funds *funds);
int64_t funds_payments(const struct funds *funds, const struct funds_limits *limits);

enum funds_level {
    FUNDS_UNKNOWN,
    FUNDS_WELL,
    FUNDS_LOW,  /* below low_payments */
    FUNDS_EMPTY /* below min_payments */
};
enum funds_level funds_level(const struct funds *funds, const struct funds_limits *limits);

/* A column of a statement that asks more: what can be spent, in stroops; FUNDS_NOT_KNOWN when that is not
 * known. */
#define FUNDS_SPENDABLE "coalesce((SELECT f.spendable FROM fairway.funds f), -1)"
#define FUNDS_NOT_KNOWN (-1)

/* Given that column's value, whether a lease may be granted, and whether this fee bump can be paid.
 * ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED: detail has the numbers. */
MUST_CHECK enum err funds_check_lease(
    int64_t spendable_stroops, const struct funds_limits *limits, struct detail *detail);
MUST_CHECK enum err funds_check_bump(int64_t spendable_stroops, int64_t fee_stroops, struct detail *detail);

/* The row, to be read with other statements. */
struct db_statement funds_statement(void);
MUST_CHECK enum err funds_read(const struct db_rows *rows, struct funds *out, struct detail *detail);

/* In the ledger transaction. Forgotten: the funds are not known any more. */
MUST_CHECK enum err funds_write(struct db *db, const struct funds *funds, struct detail *detail);
MUST_CHECK enum err funds_forget(struct db *db, struct detail *detail);

#endif
