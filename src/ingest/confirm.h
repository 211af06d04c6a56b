/*
 * Reads from the network what the metadata of a ledger claims and no hash proves: changes of accounts, and
 * the list of frozen keys. What cannot be read is given up, so that an RPC that invents an entry and answers
 * no read does not stop ingestion; the accounts are quarantined as unread then, and read again now and then.
 */
#ifndef FAIRWAY_INGEST_CONFIRM_H
#define FAIRWAY_INGEST_CONFIRM_H

#include "pool/funds.h"
#include "pool/settle_evidence.h"
#include "feed.h"
#include "retry.h"

struct confirm {
    struct feed feed;
    struct outage outage; /* of reads; its limit is how long they may fail */
    int reread_every_ms;
    int64_t reread_ms; /* clock_ms() of the next attempt to read the unread accounts; 0: at once */
    const struct funds_limits *funds; /* of funds_step */
};

/*
 * Blocks for as long as the RPC takes; no transaction may be open. The caller frees *out with
 * settle_reads_free, also after an error. ERR_RPC_UNAVAILABLE also when an answer is as of a ledger before
 * this one. When reads have failed with an error of the RPC for the limit, the result is ERR_OK with nothing
 * read and given_up set.
 */
MUST_CHECK enum err confirm_read(struct confirm *confirm, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail);

/* Whether it is time to read the unread accounts again. The next time is counted from a call that returned
 * true. */
bool confirm_rereads(struct confirm *confirm);

#endif
