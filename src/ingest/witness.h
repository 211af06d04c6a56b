/*
 * Where RPC_URL names more than one RPC, what one of them says about ledgers and accounts is compared with
 * what another says. An RPC alone can invent a whole ledger, because fairway does not verify the signatures
 * of validators.
 */
#ifndef FAIRWAY_INGEST_WITNESS_H
#define FAIRWAY_INGEST_WITNESS_H

#include "feed.h"
#include "outage.h"

struct witness {
    struct feed main;
    struct feed others[RPC_ADDRESSES_MAX]; /* others[i] asks address i + 1 of RPC_URL */
    size_t count;
    const struct rpc *rpc; /* of main: the address that it uses is not asked again; NULL: ask all */
    struct outage outage;  /* of all others */
    struct outage stalled; /* of main, which has returned no new ledger */
    int64_t next_try_ms;   /* when to ask the others again after their outage's limit; 0: they are asked */
};
#define WITNESS_GIVE_UP_MS 30000 /* the limit of both */

/*
 * A feed that reads from main and compares with the first of the others that answers. One thread uses it,
 * and *witness must outlive it. When no other RPC has answered for the limit, main is used alone, with a
 * warning, until one answers. Beyond the errors of main:
 *
 * ledgers: ERR_LEDGER_MISMATCH, two RPCs have different hashes for one ledger; ERR_LEDGER_AHEAD, no other RPC
 * has the ledger yet. Ledgers that the other one does not have are left out. A ledger that main has dropped
 * is read from another RPC, if one has it: ERR_LEDGER_GAP means that another has dropped it too, or that none
 * has returned it for the limit. So is one that main does not have yet, or does not return because of an
 * error, when main has returned no new ledger for the limit.
 *
 * accounts, frozen: if main fails, another RPC that answers takes its place. ERR_RPC_UNAVAILABLE, two RPCs
 * differ, or no other has answered. If the other one answers as of an earlier ledger, that is the ledger of
 * the result, so that an RPC gains nothing by naming a later one.
 *
 * transaction: not found unless another RPC finds it too, in the same ledger and with the same result.
 *
 * network: main's answer.
 */
struct feed witness_feed(struct witness *witness);

#endif
