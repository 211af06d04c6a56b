/*
 * Where RPC_URL names more than one RPC, what one of them says about ledgers and accounts is compared with
 * what another says. An RPC alone can invent a whole ledger, because fairway does not verify the signatures
 * of validators.
 */
#ifndef FAIRWAY_INGEST_WITNESS_H
#define FAIRWAY_INGEST_WITNESS_H

#include "feed.h"
#include "patience.h"

struct witness {
    struct feed main;
    struct feed others[RPC_ADDRESSES_MAX]; /* others[i] asks address i + 1 of RPC_URL */
    size_t count;
    const struct rpc *rpc;    /* of main: the address that it uses is not asked again; NULL: ask all */
    struct patience patience; /* with no other RPC that answers */
    struct patience stalled;  /* with main, when it has no new ledger */
    int64_t next_try_ms;      /* after the patience has ended: when to ask again; 0: it has not */
};
#define WITNESS_PATIENCE_MS 30000

/*
 * A feed that reads from main and compares with the first of the others that answers. One thread uses it,
 * and *witness must outlive it. Beyond the errors of main:
 * ledgers: ERR_LEDGER_MISMATCH, two RPCs have different hashes for one ledger; ERR_LEDGER_AHEAD, no other RPC
 * has the ledger yet. Ledgers that the other one does not have are left out. A ledger that main has dropped
 * is read from another RPC, if one has it: ERR_LEDGER_GAP means that another has dropped it too, or that none
 * has returned it for the patience. So is one that main does not have yet, when it has had no new ledger for
 * the patience. accounts, frozen: ERR_RPC_UNAVAILABLE, two RPCs differ, or no other has answered. If the
 * other one answers as of an earlier ledger, that is the ledger of the result, so that an RPC gains nothing
 * by naming a later one. When no other RPC has answered for the patience, main is used alone, with a warning,
 * until one answers.
 */
struct feed witness_feed(struct witness *witness);

#endif
