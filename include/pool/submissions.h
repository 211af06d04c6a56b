/* Submissions: leases that fairway itself sends, by fee bumps, until a ledger ends them. What begins one is
 * in fee_bump.h. */
#pragma once

#include "db/db.h"
#include "stellar/ids.h"

/* A submission that is due: its bid is sent, or the next one is made. */
struct submission_due {
    struct hash lease, bid;
    const char *client;    /* lives as long as rows, as does the envelope */
    int64_t round_ledger;  /* the cursor when these bytes were first sent */
    int64_t tip;           /* the cursor */
    struct bytes outer;    /* the bid's TransactionEnvelope */
    int64_t asked_stroops; /* by nodes that have refused it; 0: none has, else */
    struct bytes earlier;  /* the bids before it (grant/bid_rule.h) */
};

#define SUBMISSIONS_CLAIM 64

/* What the last ledger cost in the lane n.lane (from 1, stellar/ledger.h), in SQL; 0: it had room. */
#define SUBMISSIONS_PRICE                                                                                    \
    "coalesce((SELECT g.prices[n.lane] FROM fairway.cursor c JOIN fairway.ledgers g USING (sequence)), 0)"

/*
 * Claims what is due after the last committed ledger, each for one caller: it is due again after the next
 * ledger. What has been due since before the ledger since, or only after the ledger until, is left out.
 * *count < SUBMISSIONS_CLAIM: nothing more is due. The caller frees *rows. Errors as db_query.
 */
MUST_CHECK enum err submissions_claim(struct db *db, int64_t since, int64_t until,
    struct submission_due out[], size_t *count, struct db_rows **rows, struct detail *detail);

/* What all addresses have answered to a bid. */
struct submission_answer {
    struct hash lease, bid;
    struct bytes result;   /* the TransactionResult with which it was rejected; empty: it was not, but */
    int64_t asked_stroops; /* this fee is asked for; 0: none has answered */
};

/* Writes answers, at most SUBMISSIONS_CLAIM. One that was rejected: those who wait are notified. One that was
 * not sent is due at once, for another replica. Changes nothing of those in whose place another bid is, and
 * of those that another session has locked: their next bids get the same answers. */
MUST_CHECK enum err submissions_answer(
    struct db *db, const struct submission_answer answers[], size_t count, struct detail *detail);
