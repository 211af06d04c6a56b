/*
 * Ingestion: one thread that follows the network's ledgers and commits them (DESIGN section 5). Any number of
 * replicas run it; one leads, the others stand by. It never ends the process: what it cannot go on with (a
 * gap, a ledger that does not follow, an upgrade of the protocol) it says loudly and in ingest_ready, commits
 * nothing, and looks again with pauses.
 */
#ifndef FAIRWAY_INGEST_INGEST_H
#define FAIRWAY_INGEST_INGEST_H

#include "base/err.h"
#include "pool/funds.h"
#include "stellar/ids.h"

struct ingest;

struct ingest_settings {
    const char *database_direct_url; /* copied */
    const char *rpc_url;             /* copied */
    struct network_id network;
    unsigned poll_ms;          /* between looks for a ledger that is due */
    unsigned ledger_seconds;   /* expected between two ledgers */
    unsigned stale_ms;         /* a leader that commits nothing for so long, though a ledger is due, is passed
                                  over; 0: 30 s beyond the expected ledger time */
    bool synchronous_failover; /* DATABASE_FAILOVER=synchronous */
    struct funds_limits funds; /* of the distribution account: what is said about its balance, and when */
    int64_t retention_s;       /* of settled leases, and of ledger rows behind the cursor */
};

/* Neither connects nor blocks. ERR_INTERNAL: no thread. */
MUST_CHECK enum err ingest_start(
    const struct ingest_settings *settings, struct ingest **out, struct detail *detail);

/* Interrupts what it waits for and ends the thread; a ledger transaction under way is finished or rolled
 * back. NULL is fine. */
void ingest_stop(struct ingest *ingest);

/* Whether this replica leads or stands by, and the cursor is not behind; *why (may be NULL) says what is
 * wrong. Any thread; does not block. */
bool ingest_ready(struct ingest *ingest, struct detail *why);

#endif
