/*
 * What the pool should hold after each operation, said once more in plain C: a state machine that shares
 * nothing with the SQL and is compared with it. Which idle account a grant takes is the pool's choice; the
 * machine only says whether it was allowed.
 */
#ifndef FAIRWAY_TESTS_REFERENCE_H
#define FAIRWAY_TESTS_REFERENCE_H

#include "stellar/ids.h"

#define REFERENCE_ACCOUNTS 8
#define REFERENCE_LEASES 256

struct reference_account {
    const char *state;
    int64_t sequence, ledger; /* of which ledger; 0: not known yet */
};

struct reference_lease {
    struct hash hash;
    size_t account;
    int64_t sequence;
    uint64_t max_time_s;
    uint32_t max_ledger; /* 0: none */
    const char *result;  /* "open" */
};

/* What a ledger has of an account. */
enum event {
    NOTHING,
    INCLUDED,          /* its lease, successful */
    INCLUDED_FAILED,   /* its lease, failed: the sequence number is consumed */
    INCLUDED_FOR_FREE, /* its lease, with a code that consumes nothing */
    FOREIGN_USE,       /* somebody else's transaction consumed a sequence number */
    REMOVED,
    CREATED
};

struct reference {
    struct reference_account accounts[REFERENCE_ACCOUNTS];
    struct reference_lease leases[REFERENCE_LEASES];
    size_t lease_count;
    uint32_t tip;
    bool suspended, held;
};

/* The account's open lease, or NULL. */
struct reference_lease *reference_open_lease(struct reference *reference, size_t account);
size_t reference_idle(struct reference *reference);
/* NULL, or what is wrong with this lease; then the state is as it was. */
const char *reference_grant(struct reference *reference, const struct reference_lease *lease);
/* The next ledger; events by account. */
void reference_ledger(
    struct reference *reference, const enum event events[REFERENCE_ACCOUNTS], uint64_t close_time_s);

#endif
