/*
 * Ingestion: a thread that follows the network's ledgers and commits them. Any number of replicas run it; one
 * leads, and the others watch the leader. No error ends the thread or the process. When it cannot continue
 * (the RPC or the database is unavailable, a ledger does not follow from the last one, the protocol was
 * upgraded), it commits no ledger, logs the reason, and retries with pauses; ingest_ready returns the reason
 * meanwhile.
 */
#pragma once

#include "base/err.h"
#include "pool/funds.h"
#include "pool/lease_ends.h"
#include "stellar/ids.h"

struct feed;
struct ingest;

/* What has to pass before anything is read from the RPC. Repeated while it fails, like any step; its error is
 * the reason why ingestion is not ready. run NULL: nothing. */
struct ingest_check {
    enum err (*run)(void *context, struct detail *detail);
    void *context;
};

struct ingest_settings {
    const char *database_url; /* copied */
    const char *rpc_url;      /* copied; with several addresses, their answers are compared */
    const struct feed *feed;  /* copied; for tests, instead of rpc_url; else NULL */
    /* TRUSTED_VALIDATORS: a file; "off"; NULL, not set: the program's own list, if it has one of the network.
     */
    const char *trusted_validators;
    struct network_id network;
    unsigned poll_ms;          /* between requests while no ledger is due */
    unsigned ledger_ms;        /* expected between two ledgers */
    unsigned stale_ms;         /* another replica takes over from a leader that has committed nothing for this
                                  long although a ledger is due; 0: 20 s more than ledger_ms */
    bool synchronous_failover; /* DATABASE_FAILOVER=synchronous */
    struct funds_limits funds; /* when to warn about the distribution account's balance */
    int64_t retention_s;       /* how long settled leases and old ledger rows are kept */
    struct lease_ends_listener listener; /* called by the thread of ingestion, not after a gap */
    /* Gets the last committed ledger that was seen in the database, so that grants notice one that was set
     * back; NULL: not wanted. */
    _Atomic uint32_t *seen_ledger;
    struct ingest_check check;
};

/* The file that this value of TRUSTED_VALIDATORS names; NULL: none. */
const char *ingest_validators_file(const char *trusted_validators);
/* Whether with this value the signatures of ledgers of this network are checked. */
bool ingest_checks_signatures(const char *trusted_validators, const char *passphrase);

/* Neither connects nor blocks. ERR_INTERNAL: a thread could not be started. ERR_CONFIG: the file of
 * validators is wrong. */
MUST_CHECK enum err ingest_start(
    const struct ingest_settings *settings, struct ingest **out, struct detail *detail);

/* Ends the threads. Interrupts their waits and RPC requests; a ledger transaction in progress is committed or
 * rolled back first. Frees ingest. NULL is allowed. */
void ingest_stop(struct ingest *ingest);

/* Whether ledgers are committed in time, by this replica or by another leader. False: *why (may be NULL) has
 * the reason. ingest is the struct ingest, here and below. Any thread; does not block. */
bool ingest_ready(void *ingest, struct detail *why);
/* Whether the check of the settings has passed. */
bool ingest_checked(void *ingest);
