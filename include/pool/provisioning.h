/*
 * The transactions of ensure-accounts, one row of fairway.provisioning each. A transaction is signed and
 * stored as pending before it is sent, and a ledger decides how it ended. Several may be pending, each of
 * another source: the distribution account, or an account of the pool that is leased for it. All SQL on
 * fairway.provisioning is in provisioning.c.
 */
#pragma once

#include "db/db.h"
#include "stellar/account.h"
#include "stellar/ledger.h"
#include "stellar/provisioning_tx.h"

/* A row for other statements: how many accounts the pending ones create and merge. */
#define PROVISIONING_PENDING                                                                                 \
    "(SELECT coalesce(sum(cardinality(p.accounts)) FILTER (WHERE p.kind = 'creation'), 0)::int8"             \
    " AS creations, coalesce(sum(cardinality(p.accounts)) FILTER (WHERE p.kind = 'merge'), 0)::int8"         \
    " AS merges FROM fairway.provisioning p WHERE p.state = 'pending')"
/* A column for statements that read fairway.channel_accounts a: the id of the pending one that includes the
 * account, or NULL. An account is in one at most. */
#define PROVISIONING_ID                                                                                      \
    "(SELECT p.id FROM fairway.provisioning p"                                                               \
    " WHERE p.state = 'pending' AND a.public_key = ANY (p.accounts))"

/* ---- for provisioning, in transactions of the session that holds the provisioning lock */

/* Stores a signed transaction as pending. A source that is bumped is leased for it; the caller has locked it,
 * and has its sequence as of sequence_ledger. ERR_CONSTRAINT: the source has one already. */
MUST_CHECK enum err provisioning_store(struct db *db, const struct provisioning_tx *transaction,
    int64_t sequence_ledger, struct bytes envelope, const struct hash *hash, struct detail *detail);

/* How those ended that ledgers after this one have decided: how many in each way, and the latest one that did
 * not succeed, as text ("2 accounts not created: txFAILED in ledger 7"), or "". */
struct provisioning_outcomes {
    size_t succeeded, failed, expired; /* failed: superseded ones too */
    char text[100];
};
MUST_CHECK enum err provisioning_read_outcomes(
    struct db *db, uint32_t after_ledger, struct provisioning_outcomes *out, struct detail *detail);

/* How many operations the last committed ledger had room for, beside those of others than ensure-accounts; 0:
 * not known. */
MUST_CHECK enum err provisioning_read_room(struct db *db, int64_t *operations, struct detail *detail);

/* ---- for those who send them, and for ingestion, in the ledger transaction */

/* How it ended. */
struct provisioning_fate {
    const char *state;       /* of fairway.provisioning; NULL: still pending */
    const char *result_code; /* NULL: it is not in the ledger */
};

/* A pending one. */
struct provisioning_pending {
    int64_t id;
    enum provisioning_kind kind;
    size_t accounts;
    struct hash hash;
    struct buf envelope; /* as it is sent */
    int64_t sequence;    /* of source */
    int64_t max_time_s;
    struct public_key source;
    bool bumped;                   /* the source is an account of the pool */
    struct provisioning_fate fate; /* {0} until it is judged */
};
struct provisioning_list {
    struct provisioning_pending *items; /* by id */
    size_t count;
};
void provisioning_pending_free(struct provisioning_list *provisioning); /* {0} is fine */

/* The statement that reads them, for a pipeline with others, and the reader of its result; free it also after
 * an error. */
extern const char provisioning_sql[];
MUST_CHECK enum err provisioning_read_pending(
    const struct db_rows *rows, struct provisioning_list *out, struct detail *detail);

/* Whether a pending one has this hash. */
bool provisioning_has(const struct provisioning_list *provisioning, const struct hash *hash);

/* Decides it by the transactions of a ledger. */
struct provisioning_fate provisioning_judge(
    const struct provisioning_pending *pending, const struct ledger *ledger);

/* What was read from the network after a gap in the ledgers; the transaction may be in a lost one. */
struct provisioning_snapshot {
    uint32_t found_ledger; /* the ledger that has it, by getTransaction; 0: not found */
    int32_t code;          /* its result there */
    const struct account_entry *source;
    bool done; /* every account that it creates exists; every account that it merges does not */
};
/* Decides it by that; ledger is the first one after the gap. */
struct provisioning_fate provisioning_judge_after_gap(const struct provisioning_pending *pending,
    const struct provisioning_snapshot *snapshot, const struct ledger *ledger);
