/*
 * Reads from the network what the metadata of a ledger claims and no hash proves: changes of accounts, and
 * the list of frozen keys.
 */
#ifndef FAIRWAY_INGEST_CONFIRM_H
#define FAIRWAY_INGEST_CONFIRM_H

#include "pool/settle_evidence.h"
#include "feed.h"
#include "patience.h"

/* How long reads may fail, including those of an RPC that lags, before one is given up. */
#define CONFIRM_PATIENCE_MS 20000

struct confirm {
    struct feed feed;
    struct patience patience;
};

/*
 * Blocks for as long as the RPC takes; no transaction may be open. The caller frees *out with
 * settle_reads_free, also after an error. ERR_RPC_UNAVAILABLE also when an answer is as of a ledger before
 * this one. When reads have failed with an error of the RPC for as long as the patience allows, the result is
 * ERR_OK with nothing read and given_up set: an RPC that invents an entry and answers no read must not stop
 * ingestion.
 */
MUST_CHECK enum err confirm_read(struct confirm *confirm, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail);

#endif
