/* The oldest snapshot that keeps vacuum from removing dead rows of this database, and how old it is. */
#pragma once

#include "db/db.h"

struct oldest_snapshot {
    /* Seconds since the first ledger that was committed after the snapshot was taken; 0: no ledger was, and
     * the rest is empty. */
    int64_t age_s;
    char what[32]; /* as in LOCKS_PINS_SQL */
    char name[64]; /* of the session's application, of the prepared transaction or of the slot */
    char user[64]; /* "" for the last two */
    int32_t pid;   /* 0 for the last two */
};

/*
 * Needs no privilege beyond reading fairway.ledgers: PostgreSQL does not tell every role when the transaction
 * of another one began, but it tells all how many transactions have begun since, and so does each row of that
 * table. So the age grows with the ledgers that are committed; while none is, it is that of the last one.
 */
MUST_CHECK enum err oldest_snapshot_read(struct db *db, struct oldest_snapshot *out, struct detail *detail);
