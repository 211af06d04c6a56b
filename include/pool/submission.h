/*
 * The transaction of ensure-accounts that is pending: stored, signed, before it is sent, and decided by the
 * ledger that has it. At most one is pending, because the distribution account's sequence number admits no
 * more. This file has all the SQL on fairway.provisioning, in which each submission is a row.
 */
#ifndef FAIRWAY_POOL_SUBMISSION_H
#define FAIRWAY_POOL_SUBMISSION_H

#include "db/db.h"
#include "stellar/ledger.h"
#include "stellar/provisioning_tx.h"

/* A column of other statements: whether a submission is pending. */
#define SUBMISSION_PENDING "EXISTS (SELECT FROM fairway.provisioning p WHERE p.state = 'pending')"
/* And of those that read fairway.channel_accounts a: what it would do to the account, NULL: nothing. */
#define SUBMISSION_KIND                                                                                      \
    "(SELECT p.kind FROM fairway.provisioning p WHERE p.state = 'pending' AND a.public_key = ANY "           \
    "(p.accounts))"
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

/* *any is false when none is pending. */
MUST_CHECK enum err submission_read_signed(
    struct db *db, bool *any, struct signed_submission *out, struct detail *detail);

/* The latest submission, and how it ended. */
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

/* The pending submission, as far as ledgers decide it. */
struct submission {
    bool any;
    int64_t id;
    struct hash hash;
    int64_t sequence; /* of source */
    int64_t max_time_s;
    struct public_key source; /* the distribution account */
};

/* The statement that reads it, to be run in a pipeline, and the reader of its rows. */
struct db_statement submission_statement(void);
MUST_CHECK enum err submission_read(
    const struct db_rows *rows, struct submission *out, struct detail *detail);

/* What a ledger decides about it. */
struct submission_fate {
    const char *state;       /* of fairway.provisioning; NULL: still pending */
    const char *result_code; /* NULL: it is not in the ledger */
};
struct submission_fate submission_judge(const struct submission *submission, const struct ledger *ledger);

/* What the network says about it when the ledgers that may have it are lost. */
struct submission_snapshot {
    uint32_t found_ledger; /* that it is in, by getTransaction; 0: in none that the RPC keeps */
    int32_t code;          /* there */
    const struct ledger_account *source;
    bool done; /* every account that it would create or merge is as it would leave it */
};
/* The same after a gap; ledger is the first one that is known again. */
struct submission_fate submission_judge_after_gap(const struct submission *submission,
    const struct submission_snapshot *snapshot, const struct ledger *ledger);

/* The statement that writes what a ledger decided; parameters: id, state, result code, ledger. */
extern const char submission_decide_sql[];

#endif
