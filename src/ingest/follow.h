/*
 * Follows the network's ledgers by all addresses of RPC_URL at once, and says which ledger is the network's:
 *
 * With a list of validators (trust.h), the chain of ledgers judges (chain.h). A ledger whose set one of them
 * has signed is taken at once when it is the only such one; a second address with the same hash proves its
 * results, and is waited for at the tip, for a quarter of a ledger's time. Of two that are signed, the one
 * that the next signed set names. One that no validator of the list has signed, or whose set was dropped,
 * waits for a later signed one. So do the first ledger of a database and the first after a gap, which have no
 * link to a known one.
 *
 * Without a list, an RPC that is alone is believed. With several, what two of them say counts; one alone
 * counts when the others have had nothing for ledger_ms, or, while they say that it has not closed, for
 * RPCS_ALONE_MS.
 *
 * An address that is late, hangs, fails, or serves what is not the network's is not waited for, for
 * FOLLOW_AWAY_S, doubling to FOLLOW_AWAY_MAX_S. Nothing else is remembered about any.
 */
#pragma once

#include "chain.h"
#include "rpc/rpcs.h"

/* After so many that follow without a signature of the list, the list is not the network's. */
#define FOLLOW_UNSIGNED_MAX 16
/* Ledgers in one answer; each may be megabytes. */
#define FOLLOW_FETCH_MAX 10
#define FOLLOW_HALVED_MAX 3

struct follow_source {
    struct chain chain; /* from the ledger that is due on; empty: it has none */
    enum err e;         /* its last answer, while it has none; ERR_OK: it has not answered */
    struct detail detail;
    uint32_t latest;       /* of its ledgers, as it has said last; 0: not known */
    int64_t asked_ms;      /* its last answer's question */
    unsigned halved;       /* how often FOLLOW_FETCH_MAX is, for its next answer */
    bool had;              /* the last committed ledger */
    unsigned away_s;       /* 0: it is waited for; else */
    int64_t away_until_ms; /* only after this */
};

struct follow {
    struct rpcs *rpcs; /* borrowed */
    struct trust trust;
    struct network_id network;
    int64_t ledger_ms; /* expected between two ledgers */
    struct follow_source sources[RPC_ADDRESSES_MAX];
    bool signatures;     /* there is a list, as of the last call */
    bool pending;        /* the last call has returned before all that are waited for had answered */
    uint32_t due;        /* what the chains begin with, */
    bool proved;         /* the ledger that was returned last, whole: not only by its own signature */
    struct cursor after; /* and what they follow from */
    int64_t gap_ms;      /* since when one alone says that the ledger due is dropped; 0: none does */
    uint32_t latest;     /* of the network, as of the last call; of a call for UINT32_MAX, the earliest of the
                            addresses' latest ledgers */
    uint32_t logged;     /* the last ledger that was logged as one that waits for a signature */
    bool contradicts;    /* the last call has returned ERR_LEDGER_MISMATCH: a signed ledger names */
    struct hash named;   /* this header as the one before the ledger due */
};

/* The ledger that is due. */
struct follow_ledger {
    const struct ledger *ledger; /* until the next call with this follow */
    int64_t asked_ms, got_us;    /* clock_ms() of the question and clock_us() of the answer that had it */
};

/* The caller has set rpcs, trust (opened), network and ledger_ms. */
void follow_close(struct follow *follow);

/*
 * Returns the ledger that is due, number due, after the cursor; when that is not known, or whole is set, a
 * signed one after it has to prove all of it. Blocks for at most a second, or one call of an RPC that is
 * alone.
 *
 * ERR_LEDGER_AHEAD: it has not closed, or is not proved yet; a detail says what is waited for.
 * ERR_LEDGER_GAP: no address has it any more. ERR_LEDGER_MISMATCH, and the errors of ledger_decode: what an
 * RPC that is alone serves does not follow from the cursor, or (see contradicts) the cursor does not fit a
 * signed one, or FOLLOW_UNSIGNED_MAX is reached; the next call goes on. Else the errors of an RPC.
 */
MUST_CHECK enum err follow_next(struct follow *follow, const struct cursor *after, uint32_t due, bool whole,
    struct follow_ledger *out, struct detail *detail);

/* The ledger that follow_next has returned is committed: the cursor is there. Notes which addresses had it.
 */
void follow_committed(struct follow *follow, const struct cursor *cursor);

/* The last committed ledger was not the network's: those that had it have lied. */
void follow_refuted(struct follow *follow);

/* Reads one ledger of any address that has this hash for it, known from elsewhere. The caller frees *answer
 * and *ledger. */
MUST_CHECK enum err follow_fetch(struct follow *follow, uint32_t sequence, const struct hash *hash,
    struct rpc_ledgers *answer, struct ledger *ledger, struct detail *detail);
