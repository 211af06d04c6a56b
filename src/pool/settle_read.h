/* The start and the end of settling: reads the accounts that a ledger may change, and writes those that did.
 */
#pragma once

#include "db/db.h"
#include "pool/account_state.h"
#include "pool/settle.h"

struct settle_lease {
    struct hash hash;
    int64_t sequence;
    int64_t max_time_s;
    int64_t max_ledger; /* exclusive; 0: none */
};

/* How a lease ends. */
struct settle_end {
    const char *result; /* NULL: it stays open */
    const char *code;   /* NULL: no ledger has the transaction, or none that is known */
    int64_t ledger;
    struct lease_outcome outcome;
};

/* A locked account, and what settling changes of it. */
struct settle_account {
    char address[ADDRESS_SIZE];
    const struct account_evidence *evidence; /* NULL: only its lease can have expired */
    struct account_row row;
    bool leased; /* lease is set */
    struct settle_lease lease;
    struct settle_end end;
    bool followed; /* the row took over what the network has */
    bool changed;  /* the row */
};

struct settle_accounts {
    struct settle_account *items; /* in the order of their addresses */
    size_t count;
};
void settle_accounts_free(struct settle_accounts *accounts);

/* Locks all accounts of the pool about which there is evidence or whose lease may expire with this ledger,
 * except retired ones, in the order of their addresses, so that none is leased before the COMMIT. Searches
 * the pool only if *search does not reach to this ledger, or is NULL. The caller frees *out, also after an
 * error. */
MUST_CHECK enum err settle_read(struct db *db, const struct settle_evidence *evidence,
    struct settle_search *search, struct settle_accounts *out, struct detail *detail);

/* Searches the pool, in or outside a transaction. *search is replaced; after an error it is {0}. */
MUST_CHECK enum err settle_search(
    struct db *db, uint64_t close_time_s, struct settle_search *search, struct detail *detail);
/* Writes the accounts whose leases expire with this ledger, and not with an earlier one, to addresses, which
 * has room for settle_search_count of them. Returns how many. They live as long as the search. */
size_t settle_search_due(
    const struct settle_search *search, uint64_t close_time_s, uint32_t ledger, const char *addresses[]);
size_t settle_search_count(const struct settle_search *search);

/* Lists the leases that end, sorted by their hashes. *out is {0} before. */
void settle_list_ends(
    const struct settle_accounts *accounts, const struct settle_evidence *evidence, struct lease_ends *out);

/* Writes the rows that changed, inserts the results of the leases that end and clears them from their
 * accounts, and notifies ACCOUNTS_CHANNEL if it wrote anything. */
MUST_CHECK enum err settle_write(
    struct db *db, const struct settle_accounts *accounts, struct detail *detail);
