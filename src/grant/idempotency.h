/*
 * Idempotency keys: a client that repeats a request with the same key gets the lease of the first one, on
 * the day (UTC) of that lease and on the next one. A batch locks the keys of its requests first, so that of
 * all requests with one key, in any replica, one takes a lease and the others find it. A request has one key
 * or none.
 */
#pragma once

#include "db/db.h"
#include "grant/lease.h"

/* One key, carried by one or more requests of the batch. */
struct idempotency_key {
    const struct grant *first; /* of those, which may take a lease; NULL: none may */
    bool locked;               /* by this transaction, until it ends */
    bool found;                /* lease and digest are set */
    struct lease lease; /* of an earlier request with this key; without envelope if no body is the same */
    struct hash digest; /* of that request's body */
};

struct idempotency_keys {
    struct idempotency_key keys[GRANT_BATCH_MAX];
    size_t count;
    struct idempotency_key *of[GRANT_BATCH_MAX]; /* by grant; NULL: it has none */
    bool any_found;
    /* What the statements' parameters point to. */
    const char *clients[GRANT_BATCH_MAX], *texts[GRANT_BATCH_MAX];
    int64_t locks[GRANT_BATCH_MAX];
    struct bytes digests[GRANT_BATCH_MAX]; /* of the requests with a key */
    struct db_param lock_params[1], find_params[3];
};

/* The number of a key's advisory lock. */
int64_t idempotency_lock(const char *client, const char *key);

/* *keys is zeroed before. */
void idempotency_init(struct idempotency_keys *keys, struct grant *const grants[], size_t count);
void idempotency_wipe(struct idempotency_keys *keys);

/*
 * The statements, for a pipeline: in this order and after BEGIN. idempotency_read gets their rows. The text
 * of those without any key is NULL. They never wait: a key that another transaction has locked is not locked
 * here.
 */
#define IDEMPOTENCY_STATEMENTS 2
void idempotency_statements(
    const struct idempotency_keys *keys, struct db_statement out[static IDEMPOTENCY_STATEMENTS]);
MUST_CHECK enum err idempotency_read(struct idempotency_keys *keys,
    struct db_rows *const results[static IDEMPOTENCY_STATEMENTS], struct detail *detail);

/*
 * Before accounts are assigned: when grant i repeats an earlier request, decides it (refuses it when its body
 * differs). Returns whether grant i may get an account. False when it was decided, when another grant of the
 * batch with the same key comes first, or when its key is locked elsewhere (it stays open with
 * OPEN_KEY_LOCKED).
 */
bool idempotency_decide(struct idempotency_keys *keys, struct grant *const grants[], size_t i);

/* After COMMIT: grants with the same key get the result of the first of them. */
void idempotency_share(struct idempotency_keys *keys, struct grant *const grants[], size_t count);
