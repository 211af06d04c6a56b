/*
 * The cursor is the last committed ledger. The checks in this file decide, from the ledger alone and before
 * any transaction begins, whether a ledger that the RPC returned may be committed after it.
 */
#pragma once

#include "db/db.h"
#include "rpc/rpc.h"
#include "stellar/ledger.h"

struct cursor {
    bool known; /* false: the database has no ledger yet */
    uint32_t sequence;
    struct hash hash;
    uint64_t close_time_s;
};

/* Appended to the text of errors that a reset network can cause. */
#define CURSOR_RESET "A reset network needs a new database: fairway migrate, fairway ensure-accounts"

/*
 * Checks that the ledger is number due, that its header, transactions and results have the hashes that they
 * must have, that number and hash are those of the RPC's answer, and that it follows from the cursor. While
 * the cursor is not known, no link is checked. ERR_LEDGER_MISMATCH: detail says what does not match.
 */
MUST_CHECK enum err cursor_check(const struct cursor *cursor, uint32_t due, const struct rpc_ledger *received,
    const struct ledger *ledger, struct detail *detail);

/*
 * Checks the latest ledger of an RPC that does not have the next ledger yet. The nodes of one address may be
 * some ledgers apart, so a small lag is ERR_OK. ERR_LEDGER_MISMATCH: latest is so far below the cursor that
 * the network was reset, or that this RPC is unusable.
 */
MUST_CHECK enum err cursor_check_latest(const struct cursor *cursor, uint32_t latest, struct detail *detail);

/* The cursor once this ledger is committed. */
struct cursor cursor_after(const struct ledger *ledger);

/* What any replica can read about the cursor, also one that does not lead. */
struct cursor_snapshot {
    bool known; /* false: the database has no ledger yet */
    uint32_t sequence;
    int64_t lag_s; /* the database's clock minus the close time */
    struct hash hash;
    int64_t term;
};
MUST_CHECK enum err cursor_snapshot_read(struct db *db, struct cursor_snapshot *out, struct detail *detail);

/* Whether what this replica reads now is older than what it has seen in the database before, or another
 * history: the database was set back. A ledger that was corrected has a new term (refute.h). */
bool cursor_went_back(const struct cursor_snapshot *seen, const struct cursor_snapshot *now);
