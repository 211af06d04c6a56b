/*
 * Where RPC_URL names more than one RPC, what one of them says about ledgers and accounts is compared with
 * what another says. An RPC alone can invent a whole ledger, because fairway does not verify the signatures
 * of validators.
 *
 * One RPC is followed: ledgers are read from it. When it does not return the next ledger, the first one that
 * does is followed from then on. Each of the others takes part or is left out. A ledger is used when one that
 * takes part has the same; without an answer it is waited for. When none has confirmed a ledger for
 * WITNESS_GIVE_UP_MS, all others are left out. So is one whose ledgers are late. One that is left out is
 * asked every WITNESS_GIVE_UP_MS, and takes part again as soon as it has the ledger too.
 */
#ifndef FAIRWAY_INGEST_WITNESS_H
#define FAIRWAY_INGEST_WITNESS_H

#include "feed.h"
#include "retry.h"

struct witness_rpc {
    struct feed feed;    /* asks this address of RPC_URL alone; used while it is followed */
    struct feed check;   /* the same, with less time for an answer */
    int64_t left_out_ms; /* clock_ms() when it is asked again; 0: it takes part */
};

/* The latest ledger of an RPC, which another one did not have yet. */
struct witness_mark {
    size_t ahead, behind;
    uint32_t sequence; /* 0: none */
    struct hash hash;
    int64_t since_ms; /* clock_ms() when ahead had it */
    int64_t had_ms;   /* when behind had it; 0: not yet */
    int64_t seen_ms;  /* when behind answered last */
    int64_t next_ms;  /* when the next one may be looked for */
};

struct witness {
    struct witness_rpc rpcs[RPC_ADDRESSES_MAX]; /* rpcs[i] is address i + 1 of RPC_URL */
    size_t count;
    size_t followed;
    size_t confirmed_by;  /* the one that confirmed the last ledger; it is asked first */
    uint32_t fetch_limit; /* of ledgers in the next request */
    struct witness_mark mark;
    struct outage stalled;           /* no RPC has returned the next ledger */
    struct outage unconfirmed;       /* no other RPC has confirmed a ledger */
    struct outage unread_recovering; /* the same for reads of accounts and frozen keys */
    struct outage unread_confirming;
};

/* No RPC yet: the caller adds them to rpcs. */
struct witness witness_init(void);

/*
 * A feed that reads from the RPC that is followed and compares. One thread uses it, and *witness must outlive
 * it. Beyond the errors of an RPC:
 *
 * ledgers: ERR_LEDGER_MISMATCH, two RPCs have different hashes for one ledger; ERR_LEDGER_AHEAD, no other RPC
 * has the ledger yet. Ledgers that the other one does not have are left out. Another RPC is asked for the
 * ledger at once when the one that is followed fails, has dropped it, or is behind what was committed; and
 * when no new ledger has come for the limit. ERR_LEDGER_GAP means that another one has dropped the ledger
 * too, or that no other one has answered for the limit. One that says that the ledger has not closed yet
 * contradicts the gap: ERR_LEDGER_AHEAD, and ERR_RPC_UNAVAILABLE after the limit.
 *
 * accounts, frozen: if the RPC that is followed fails, another one that answers takes its place.
 * ERR_RPC_UNAVAILABLE, two RPCs differ, or no other one has answered; without any other answer for the limit,
 * one alone is used. If the other one answers as of an earlier ledger, that is the ledger of the result, so
 * that an RPC gains nothing by naming a later one.
 *
 * transaction: not found unless another RPC that takes part finds it too, in the same ledger and with the
 * same result.
 *
 * network: the answer of the one that is followed; if it fails, of another one.
 *
 * distrust: another RPC is followed.
 */
struct feed witness_feed(struct witness *witness);

/*
 * The same for reads that confirm what the metadata of a ledger reports. The ledger came from the RPC that is
 * followed. One answer of another RPC is enough, therefore, if the one that is followed does not answer; and
 * if no other one answers, the limit is WITNESS_CONFIRM_MS.
 */
struct feed witness_confirm_feed(struct witness *witness);

/* ---- inside: what witness.c and witness_reads.c share */

/* Sets order to the count indexes of rpcs: the one that is followed, the one that has confirmed last, and the
 * others in the order of RPC_URL. */
void witness_order(const struct witness *witness, size_t order[RPC_ADDRESSES_MAX]);

/* How an RPC is asked: the one that is followed has more time. */
const struct feed *witness_asked(const struct witness *witness, size_t i);

/* Whether rpcs[i] is asked now: it takes part, or was not asked since it was left out for the limit. */
bool witness_asks(const struct witness *witness, size_t i);

/* Leaves rpcs[i] out, or asks it again later if it is left out. */
void witness_leave_out(struct witness *witness, size_t i);
/* Whether all but the one that is followed are left out. */
bool witness_alone(const struct witness *witness);

/* Whether another RPC may answer what one has failed with this. */
bool witness_is_rpc_error(enum err e);

/* Members accounts and frozen of witness_feed. */
MUST_CHECK enum err witness_accounts(void *source, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail);
MUST_CHECK enum err witness_frozen(
    void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);

#endif
