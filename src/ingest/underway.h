/*
 * The transaction that ensure-accounts has under way, decided by the ledger: part of the ledger transaction,
 * so that whoever waits for it sees its fate together with the accounts that it created or removed.
 */
#ifndef FAIRWAY_INGEST_UNDERWAY_H
#define FAIRWAY_INGEST_UNDERWAY_H

#include "db/db.h"
#include "stellar/ledger.h"

struct underway {
    bool any;
    int64_t id;
    struct hash hash;
    int64_t sequence; /* of source */
    int64_t max_time_s;
    struct public_key source; /* the distribution account */
};

/* The statement that finds it, for the front of a pipeline, and its rows. */
struct db_statement underway_statement(void);
MUST_CHECK enum err underway_read(const struct db_rows *rows, struct underway *out, struct detail *detail);

/* What the ledger makes of it. */
struct underway_fate {
    const char *state;       /* of fairway.provisioning; NULL: still pending */
    const char *result_code; /* NULL: it is not in the ledger */
};
struct underway_fate underway_judge(const struct underway *underway, const struct ledger *ledger);

/* What is seen of it when the ledgers that may have it are lost. */
struct underway_sight {
    uint32_t found_ledger; /* that it is in, by getTransaction; 0: in none that is kept */
    int32_t code;          /* there */
    const struct ledger_account *source;
    bool done; /* every account that it would create or merge is as it would leave it */
};
/* The same behind a gap, for the ledger from which on ledgers are known again. */
struct underway_fate underway_judge_behind_gap(
    const struct underway *underway, const struct underway_sight *sight, const struct ledger *ledger);

/* The text of the statement that writes it down; parameters: id, state, result code, ledger. */
extern const char underway_decide_sql[];

#endif
