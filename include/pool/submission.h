/*
 * The transactions of ensure-accounts, one row of fairway.provisioning each. A transaction is signed and
 * stored as pending before it is sent, and a ledger decides how it ended. At most one is pending, because
 * the sequence number of the distribution account admits no more. All SQL on fairway.provisioning is in
 * submission.c.
 */
#ifndef FAIRWAY_POOL_SUBMISSION_H
#define FAIRWAY_POOL_SUBMISSION_H

#include "db/db.h"
#include "stellar/account.h"
#include "stellar/ledger.h"
#include "stellar/provisioning_tx.h"

/* A column for other statements: whether a submission is pending. */
#define SUBMISSION_PENDING "EXISTS (SELECT FROM fairway.provisioning p WHERE p.state = 'pending')"
/* A column for statements that read fairway.channel_accounts a: the kind of the pending submission that
 * includes the account, or NULL. */
#define SUBMISSION_KIND                                                                                      \
    "(SELECT p.kind FROM fairway.provisioning p"                                                             \
    " WHERE p.state = 'pending' AND a.public_key = ANY (p.accounts))"
MUST_CHECK enum err submission_kind_parse(const char *name, enum provisioning_kind *out);

/* Whether the pending submission includes the account. Call it after the account is locked: a submission is
 * stored under the same lock. */
MUST_CHECK enum err submission_includes(
    struct db *db, const struct public_key *account, bool *includes, struct detail *detail);

/* ---- for provisioning, in transactions of the session that holds the provisioning lock */

/* Stores a signed transaction as the pending one. ERR_CONSTRAINT: there is one already. */
MUST_CHECK enum err submission_store(struct db *db, const struct provisioning_tx *transaction,
    struct bytes envelope, const struct hash *hash, struct detail *detail);

/* The pending submission as it is sent. */
struct signed_submission {
    int64_t id;
    enum provisioning_kind kind;
    struct hash hash;
    struct buf envelope; /* signed_submission_wipe frees it */
};
void signed_submission_wipe(struct signed_submission *submission);

/* Reads it; *any is false if none is pending. */
MUST_CHECK enum err submission_read_signed(
    struct db *db, bool *any, struct signed_submission *out, struct detail *detail);

/* The latest submission, and how it ended if it is not pending. */
struct submission_outcome {
    bool any, pending, succeeded;
    int64_t id;
    size_t accounts;
    enum provisioning_kind kind;
    char text[80]; /* "txFAILED in ledger 7", "expired" */
};
MUST_CHECK enum err submission_read_outcome(
    struct db *db, struct submission_outcome *out, struct detail *detail);

/* ---- for ingestion, in the ledger transaction */

/* The pending submission: what a ledger needs to decide it. */
struct submission {
    bool any;
    int64_t id;
    struct hash hash;
    int64_t sequence; /* of source */
    int64_t max_time_s;
    struct public_key source; /* the distribution account */
};

/* The statement that reads it, for a pipeline with others, and the reader of its result. */
struct db_statement submission_statement(void);
MUST_CHECK enum err submission_read(
    const struct db_rows *rows, struct submission *out, struct detail *detail);

/* How it ended. */
struct submission_fate {
    const char *state;       /* of fairway.provisioning; NULL: still pending */
    const char *result_code; /* NULL: it is not in the ledger */
};
/* Decides the submission by the transactions of a ledger. */
struct submission_fate submission_judge(const struct submission *submission, const struct ledger *ledger);

/* What was read from the network after a gap in the ledgers; the submission may be in a lost one. */
struct submission_snapshot {
    uint32_t found_ledger; /* the ledger that has it, by getTransaction; 0: not found */
    int32_t code;          /* its result there */
    const struct account_entry *source;
    bool done; /* every account that it creates exists; every account that it merges does not */
};
/* Decides the submission by that; ledger is the first one after the gap. */
struct submission_fate submission_judge_after_gap(const struct submission *submission,
    const struct submission_snapshot *snapshot, const struct ledger *ledger);

#endif
