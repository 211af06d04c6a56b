/*
 * The ledger that was committed last, and whether another one follows from it (DESIGN section 5). Pure: what
 * a feed says is judged here, before any transaction begins.
 */
#ifndef FAIRWAY_INGEST_CURSOR_H
#define FAIRWAY_INGEST_CURSOR_H

#include "rpc/rpc.h"
#include "stellar/ledger.h"

struct cursor {
    bool known; /* false: the database has no ledger yet */
    uint32_t sequence;
    struct hash hash;
    uint64_t close_time_s;
    uint32_t protocol;
};

/*
 * Whether the ledger is the very next one, proved as far as a ledger proves itself, and the one that the RPC
 * named. Without a known position its number is the RPC's and nothing is linked. ERR_LEDGER_MISMATCH: it is
 * not; detail says what disagrees.
 */
MUST_CHECK enum err cursor_check(const struct cursor *position, const struct rpc_ledger *named,
    const struct ledger *ledger, struct detail *detail);

/* The same for a ledger whose predecessors are lost: it is the one that was asked for, above the position,
 * and all but its link is proved. */
MUST_CHECK enum err cursor_check_after_gap(const struct cursor *position, uint32_t asked,
    const struct rpc_ledger *named, const struct ledger *ledger, struct detail *detail);

/*
 * Whether an RPC that has no ledger above latest yet can be waited for. Nodes behind one address are some
 * ledgers apart; ERR_LEDGER_MISMATCH: one that is further behind serves a network that began anew, or is no
 * source to follow.
 */
MUST_CHECK enum err cursor_check_tip(const struct cursor *position, uint32_t latest, struct detail *detail);

/* What helps when the network of the database is no more. */
#define NEW_DATABASE "A reset network needs a new database: fairway migrate, fairway ensure-accounts"

/* The position when the ledger is committed. */
struct cursor cursor_after(const struct ledger *ledger);

#endif
