/*
 * Reads from the network what the metadata of a ledger claims and no hash proves: changes of accounts, and
 * the list of frozen keys.
 */
#ifndef FAIRWAY_INGEST_CONFIRM_H
#define FAIRWAY_INGEST_CONFIRM_H

#include "pool/settle_evidence.h"
#include "feed.h"

/*
 * Blocks for as long as the RPC takes; no transaction may be open. The caller frees *out with
 * settle_reads_free, also after an error. ERR_RPC_UNAVAILABLE also when an answer is as of a ledger before
 * this one.
 */
MUST_CHECK enum err confirm_read(const struct feed *feed, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail);

#endif
