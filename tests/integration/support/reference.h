/*
 * A reference for the pool's tables: a state machine in C that shares nothing with the SQL and is compared
 * with it after each operation. Which idle account a grant takes is the pool's choice; the machine only
 * checks that the account was allowed.
 */
#pragma once

#include "stellar/ids.h"

#define REFERENCE_ACCOUNTS 8
#define REFERENCE_LEASES 256

struct reference_account {
    const char *state;
    int64_t sequence, ledger; /* the ledger of the sequence number; 0: not known yet */
};

struct reference_lease {
    struct hash hash;
    size_t account;
    int64_t sequence;
    uint64_t max_time_s;
    uint32_t max_ledger; /* 0: none */
    const char *result;  /* "open", or how it ended */
};

/* What happens to an account in a ledger. */
enum event {
    NOTHING,
    INCLUDED,          /* its lease's transaction, successful */
    INCLUDED_FAILED,   /* the same, failed: the sequence number is consumed */
    INCLUDED_FOR_FREE, /* the same, with a result code that consumes no sequence number */
    FOREIGN_USE,       /* a transaction that is not ours consumed a sequence number */
    REMOVED,
    CREATED
};

struct reference {
    struct reference_account accounts[REFERENCE_ACCOUNTS];
    struct reference_lease leases[REFERENCE_LEASES];
    size_t lease_count;
    uint32_t tip; /* the last ledger */
    bool suspended, held;
};

/* Returns the account's open lease, or NULL. */
struct reference_lease *reference_open_lease(struct reference *reference, size_t account);
/* Returns the number of idle accounts. */
size_t reference_idle(struct reference *reference);
/* Adds the lease. Returns NULL, or why it is not allowed; then the state is unchanged. */
const char *reference_grant(struct reference *reference, const struct reference_lease *lease);
/* Applies the next ledger; events by account. */
void reference_ledger(
    struct reference *reference, const enum event events[REFERENCE_ACCOUNTS], uint64_t close_time_s);
