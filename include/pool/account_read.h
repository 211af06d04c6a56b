/* Reads the rows of channel accounts, without locks: rows that other transactions have locked are read too.
 */
#pragma once

#include "db/db.h"
#include "keys/keyd.h"
#include "pool/account_state.h"

/* Addresses of accounts as an SQL parameter. */
struct account_addresses {
    char (*encoded)[ADDRESS_SIZE];
    const char **texts;
};
struct account_addresses account_addresses_of(const struct public_key accounts[], size_t count);
void account_addresses_free(struct account_addresses *addresses);

/* The columns that account_read_seed reads, of a row named a. */
#define ACCOUNT_SEED_COLUMNS "a.public_key, a.sealed_seed, a.key_id"
#define ACCOUNT_SEED_COLUMN_COUNT 3

/* Reads an account's key and sealed seed, from the column at which ACCOUNT_SEED_COLUMNS begin. */
MUST_CHECK enum err account_read_seed(const struct db_rows *rows, size_t row, int column,
    struct public_key *account, struct sealed_seed *sealed, struct detail *detail);

/* An account that is locked as the source of a transaction, and what account_read_source reads of it: the
 * first columns. */
struct account_source {
    struct public_key key;
    struct sealed_seed sealed;
    int64_t sequence, sequence_ledger;
};
#define ACCOUNT_SOURCE_COLUMNS ACCOUNT_SEED_COLUMNS ", a.sequence, a.sequence_ledger"
#define ACCOUNT_SOURCE_COLUMN_COUNT 5
MUST_CHECK enum err account_read_source(
    const struct db_rows *rows, size_t row, struct account_source *out, struct detail *detail);

/* Reads the states of these accounts; of one that is not of this pool, known[i] is false. Retired ones are
 * known.
 */
MUST_CHECK enum err account_read_states(struct db *db, const struct public_key accounts[], size_t count,
    bool known[], enum account_state states[], struct detail *detail);

/* An account as it is shown to clients and operators. */
struct account_shown {
    char public_key[ADDRESS_SIZE];
    char state[12];   /* "idle", "leased", "creating", "retiring", "quarantined", "retired" */
    char reason[120]; /* of a quarantine, cut to fit; else '' */
    int64_t sequence, sequence_ledger; /* -1: unknown */
    bool lease_shown;                  /* else what follows is 0 */
    struct hash lease_hash;
    int64_t lease_max_time_s;
};
#define ACCOUNT_PAGE_MAX 1000

/* Reads at most limit accounts whose public_key is greater than after ('': from the first), in the order of
 * public_key, of this state; NULL: of all but retired ones. Shows only the leases of client; NULL: all. */
MUST_CHECK enum err account_read_page(struct db *db, const char *state, const char *client, const char *after,
    size_t limit, struct account_shown out[], size_t *count, struct detail *detail);
