/*
 * The audit finds what no transaction of a ledger shows. While this replica leads, a thread with a session of
 * its own reads the frozen keys when the lead begins and after an upgrade. Where no validator's signature
 * proves that a ledger names every change, it also reads all accounts of the pool, once an hour, and compares
 * each with its row. It quarantines an account that differs. No ledger waits for it.
 *
 * A read is compared when the ledger as of which it is has been committed, and only with rows that are as of
 * earlier ledgers; the next pass reads the others again.
 *
 * It puts an account back into use that somebody else's transaction has used, but not changed otherwise
 * (ACCOUNT_MOVED, account_change.h): each at most once in AUDIT_RETURN_MS, because each may cost a lease.
 */
#pragma once

#include <stdatomic.h>

#include "base/stop.h"
#include "pool/account_state.h"
#include "pool/settle_evidence.h"
#include "rpc/feed.h"

struct audit;

#define AUDIT_EVERY_MS 3600000
#define AUDIT_RETURN_MS 600000

struct audit_settings {
    const char *database_url; /* copied */
    struct feed feed;         /* the audit's thread alone calls it; its requests end when stop is told */
    unsigned every_ms;        /* between two passes over all accounts; 0: none, only the frozen keys */
    unsigned pause_ms;        /* between two requests to the RPC; 0: 15 s */
    unsigned return_ms;       /* between two looks at the accounts that were moved */
    const atomic_bool *leads; /* borrowed: whether this replica leads */
    const struct stop *stop;  /* borrowed; ends the thread */
};

/* Neither connects nor blocks. */
struct audit *audit_start(const struct audit_settings *settings);

/* Waits for the thread. NULL is allowed. */
void audit_join(struct audit *audit);

/* Reads the frozen keys at once: this ledger has an upgrade that may have frozen accounts. Any thread; does
 * not block. */
void audit_upgraded(struct audit *audit, uint32_t ledger);

/* ---- inside: a pure function, for tests */

/* Why the account has to be quarantined, a constant; NULL: no reason. All ledgers up to the read's are
 * committed. */
const char *audit_judge(const struct account_row *row, const struct account_snapshot *read);
