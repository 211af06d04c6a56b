/* Submissions: leases that fairway itself sends, by fee bumps, until a ledger ends them. What begins one is
 * in fee_bump.h. */
#ifndef FAIRWAY_POOL_SUBMISSIONS_H
#define FAIRWAY_POOL_SUBMISSIONS_H

#include "db/db.h"
#include "stellar/ids.h"

/* A submission that is due: its bid is sent, or the next one is made. */
struct submission_due {
    struct hash lease, bid;
    const char *client;      /* lives as long as rows, as does the envelope */
    int64_t max_fee_stroops; /* the client's cap; 0: none */
    int64_t bid_stroops;
    int64_t round_ledger; /* the cursor when these bytes were first sent */
    int64_t tip;          /* the cursor */
    struct bytes outer;   /* the bid's TransactionEnvelope */
};

#define SUBMISSIONS_CLAIM 64

/* The sum of all bids that are sent, in SQL. By the index of due ledgers: each claim moves a row there, so
 * the versions that it leaves behind, which pile up under an old snapshot, are not met, nor the pages that
 * they have filled. */
#define SUBMISSIONS_OPEN_BIDS                                                                                \
    "(SELECT coalesce(sum(o.bid)::int8, 0) FROM fairway.submissions o WHERE o.rejected IS NULL"              \
    " AND o.due_ledger >= (SELECT c.sequence FROM fairway.cursor c) - 10)"

/*
 * Claims what is due after the last committed ledger, each for one caller: it is due again after the next
 * ledger. Bytes that have not been replaced for again ledgers begin another round. What has been due since
 * before the ledger since, or only after the ledger until, is left out. *count < SUBMISSIONS_CLAIM: nothing
 * more is due. The caller frees *rows. Errors as db_query.
 */
MUST_CHECK enum err submissions_claim(struct db *db, int64_t again, int64_t since, int64_t until,
    struct submission_due out[], size_t *count, struct db_rows **rows, struct detail *detail);

/* What all addresses have answered to a bid. */
struct submission_answer {
    struct hash lease, bid;
    struct bytes
        result;  /* the TransactionResult with which it was rejected; empty: there was no room for it */
    bool unsent; /* none has answered */
};

/* Writes answers, at most SUBMISSIONS_CLAIM. One that was rejected: those who wait are notified. One without
 * room: its round, of so many ledgers, is over when the next one is committed. One that was not sent is due
 * at once, for another replica. Changes nothing of those in whose place another bid is, and of those that
 * another session has locked: their next bids get the same answers. */
MUST_CHECK enum err submissions_answer(struct db *db, const struct submission_answer answers[], size_t count,
    int64_t ledgers, struct detail *detail);

#endif
