/*
 * Housekeeping (pool/retention.h) and the watch for old snapshots, in a thread and a
 * database session of their own, so that no ledger waits for them. When one fails, it logs a warning and
 * retries later; nothing else changes. It works only while this replica leads; otherwise it has no session.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/stop.h"

struct janitor;

struct janitor_settings {
    const char *database_url; /* copied */
    int64_t retention_s;      /* of settled leases and of ledgers */
    const atomic_bool *leads; /* borrowed: whether this replica leads */
    const struct stop *stop;  /* borrowed; ends the thread */
};

/* Neither connects nor blocks. */
struct janitor *janitor_start(const struct janitor_settings *settings);

/* Waits for the thread, which ends after its current statement once stop_tell was called. NULL is allowed. */
void janitor_join(struct janitor *janitor);
