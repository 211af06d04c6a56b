/*
 * Idempotency keys: a client that repeats a request with the same key gets the lease that the first one took.
 * The lease's row is the only record; a batch locks its keys first, so that of all who carry one key at a
 * time, on any replica, one takes a lease and the others find it.
 */
#ifndef FAIRWAY_GRANT_BATCH_KEYS_H
#define FAIRWAY_GRANT_BATCH_KEYS_H

#include "grant/grant.h"

/* One key of a batch, however many of its requests carry it. */
struct batch_key {
    const struct lease_request *request; /* the first of those */
    bool locked;                         /* by this transaction, until it ends */
    bool found;
    struct recorded_lease lease; /* when found */
};

struct batch_keys {
    struct batch_key keys[GRANT_BATCH_MAX];
    size_t count;
    struct batch_key *of[GRANT_BATCH_MAX]; /* of each grant; NULL: it carries none */
    bool any_found;
    /* what the statements' parameters point to */
    int64_t locks[GRANT_BATCH_MAX];
    const char *clients[GRANT_BATCH_MAX], *texts[GRANT_BATCH_MAX];
    struct db_param lock_params[1], find_params[2];
};

void batch_keys_init(struct batch_keys *keys, struct grant *const grants[], size_t count);
void batch_keys_wipe(struct batch_keys *keys);

/* For a pipeline, in this order and after BEGIN; each answer goes to its reader. Without any key, statements
 * whose text is NULL. Nothing waits: a key that another transaction has locked stays unlocked here. */
#define BATCH_KEY_STATEMENTS 2
void batch_keys_statements(
    const struct batch_keys *keys, struct db_statement out[static BATCH_KEY_STATEMENTS]);
MUST_CHECK enum err batch_keys_read(struct batch_keys *keys,
    struct db_rows *const answers[static BATCH_KEY_STATEMENTS], struct detail *detail);

/*
 * Decides what the keys decide before accounts are given out: retries are done (or refused, when the body is
 * another one). Returns whether grant i is then one that may get an account: not a retry, not one of several
 * with its key but the first, not one whose key is being granted elsewhere (OPEN_ELSEWHERE).
 */
bool batch_keys_decide(struct batch_keys *keys, struct grant *const grants[], size_t i);

/* After the COMMIT: of several grants with one key, the others share the fate of the first. */
void batch_keys_share(struct batch_keys *keys, struct grant *const grants[], size_t count);

#endif
