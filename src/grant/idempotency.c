/* Which lease the key of a request has. Nothing is recorded here: fairway.record_leases writes a key with its
 * lease. */
#include "idempotency.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* It never waits: a replica that hangs in its transaction must not block the batches of others. */
static const char sql_lock[] = "SELECT k.ordinal FROM unnest($1::int8[]) WITH ORDINALITY k (lock, ordinal)"
                               " WHERE pg_try_advisory_xact_lock(k.lock)";

/* A statement of its own after the locks, so that its snapshot sees what any earlier holder of a lock has
 * committed. Only a request with the same body gets the envelope. A key is found on the day of its lease
 * (UTC) and on the next one; the bounds leave the partitions of these days. */
static const char sql_find[] =
    "SELECT n.ordinal, l.hash, l.account, l.sequence, l.sequence_ledger, l.max_time,"
    " CASE WHEN k.digest = ANY ($3::bytea[]) THEN l.envelope END, k.digest,"
    " coalesce(r.result, 'pending')"
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY n (client, key, ordinal)"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.idempotency_keys i WHERE i.client = n.client"
    "   AND i.key = n.key AND i.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND i.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days' LIMIT 1) k"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.leases m WHERE"
    "   fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(k.granted_at, k.lease_hash)"
    "   AND m.hash = k.lease_hash AND m.granted_at = k.granted_at"
    "   AND m.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND m.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days' LIMIT 1) l"
    " LEFT JOIN LATERAL (SELECT * FROM fairway.lease_results e WHERE e.hash = k.lease_hash"
    "   AND e.granted_at = k.granted_at"
    "   AND e.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND e.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days' LIMIT 1) r ON true";

/* Of a hash, so that clients cannot choose keys with one number. */
int64_t idempotency_lock(const char *client, const char *key)
{
    static const char kind[] = "idempotency";
    const struct bytes parts[] = {{(const uint8_t *)kind, sizeof kind},
        {(const uint8_t *)client, strlen(client) + 1}, {(const uint8_t *)key, strlen(key)}};
    return (int64_t)be64_get(sha256_parts(parts, ARRAY_LEN(parts)).bytes);
}

/* Client and text are borrowed. */
static struct idempotency_key *key_of(struct idempotency_keys *keys, const char *client, const char *text)
{
    const int64_t lock = idempotency_lock(client, text);
    size_t i = 0;
    while (i < keys->count && (keys->locks[i] != lock || strcmp(keys->clients[i], client) != 0 ||
                                  strcmp(keys->texts[i], text) != 0))
        i++;
    if (i == keys->count) {
        keys->count++;
        keys->locks[i] = lock;
        keys->clients[i] = client;
        keys->texts[i] = text;
    }
    return &keys->keys[i];
}

void idempotency_init(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    size_t digests = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lease_request *request = grants[i]->request;
        if (request->idempotency_key[0] == '\0')
            continue;
        keys->of[i] = key_of(keys, request->client, request->idempotency_key);
        keys->digests[digests++] = BYTES_OF(request->digest.bytes);
    }
    keys->lock_params[0] = DB_I64S(keys->locks, keys->count);
    keys->find_params[0] = DB_TEXTS(keys->clients, keys->count);
    keys->find_params[1] = DB_TEXTS(keys->texts, keys->count);
    keys->find_params[2] = DB_BYTEAS(keys->digests, digests);
}

void idempotency_wipe(struct idempotency_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        lease_wipe(&keys->keys[i].lease);
}

void idempotency_statements(
    const struct idempotency_keys *keys, struct db_statement out[static IDEMPOTENCY_STATEMENTS])
{
    out[0] = out[1] = (struct db_statement){0};
    if (keys->count == 0)
        return;
    out[0] = (struct db_statement){sql_lock, keys->lock_params, ARRAY_LEN(keys->lock_params)};
    out[1] = (struct db_statement){sql_find, keys->find_params, ARRAY_LEN(keys->find_params)};
}

static enum err read_lease(
    const struct db_rows *rows, size_t row, struct idempotency_key *out, struct detail *detail)
{
    if (address_decode(db_text(rows, row, 2), &out->lease.account) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "malformed lease of an idempotency key");
    db_copy(rows, row, 1, out->lease.hash.bytes, sizeof out->lease.hash.bytes);
    db_copy(rows, row, 7, out->digest.bytes, sizeof out->digest.bytes);
    out->lease.sequence = db_i64(rows, row, 3);
    out->lease.sequence_ledger = db_i64(rows, row, 4);
    out->lease.max_time_s = (uint64_t)db_i64(rows, row, 5);
    snprintf(out->lease.status, sizeof out->lease.status, "%s", db_text(rows, row, 8));
    if (!db_is_null(rows, row, 6))
        buf_add_bytes(&out->lease.envelope, db_bytea(rows, row, 6));
    return ERR_OK;
}

enum err idempotency_read(struct idempotency_keys *keys,
    struct db_rows *const results[static IDEMPOTENCY_STATEMENTS], struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < IDEMPOTENCY_STATEMENTS; i++) /* NULL: the statement was omitted */
        for (size_t row = 0;
             e == ERR_OK && results[i] != NULL && row < db_count_at_most(results[i], DB_ANY_COUNT); row++) {
            struct idempotency_key *key = &keys->keys[db_ordinal(results[i], row, 0, keys->count)];
            if (i == 0) {
                key->locked = true;
                continue;
            }
            key->found = keys->any_found = true;
            e = read_lease(results[i], row, key, detail);
        }
    return e;
}

static struct lease copy_of(const struct lease *lease)
{
    struct lease copy = *lease;
    copy.first = false;
    copy.envelope = copy.bid = (struct buf){0};
    copy.bid_stroops = 0; /* the first request sends it */
    buf_add_bytes(&copy.envelope, buf_bytes(&lease->envelope));
    return copy;
}

/* Decides the grant by the lease that its key has, which a request with this digest took. */
static void decide(struct grant *grant, const struct lease *lease, const struct hash *digest)
{
    if (hash_equal(&grant->request->digest, digest)) {
        grant->state = GRANT_DONE;
        grant->lease = copy_of(lease);
        return;
    }
    grant->state = GRANT_REFUSED;
    grant->lease.hash = lease->hash;
    grant->error = detail_set(&grant->detail, ERR_IDEMPOTENCY_CONFLICT,
        "This Idempotency-Key took the lease that hash names, for a body with other bytes. A retry must send "
        "the same bytes. Look that lease up before you pay again with a new key.");
}

bool idempotency_decide(struct idempotency_keys *keys, struct grant *const grants[], size_t i)
{
    struct idempotency_key *key = keys->of[i];
    if (key == NULL)
        return true;
    if (key->found)
        decide(grants[i], &key->lease, &key->digest);
    else if (!key->locked)
        grants[i]->open = OPEN_KEY_LOCKED;
    else if (key->first == NULL)
        key->first = grants[i];
    return key->first == grants[i];
}

/* The first grant with the same idempotency key is decided: this one gets the same, unless it is for another
 * body and the key took no lease: then it may. */
static void follow(struct grant *grant, const struct grant *first)
{
    const bool took = first->state == GRANT_DONE && !first->is_of_another;
    if (!took && !hash_equal(&grant->request->digest, &first->request->digest)) {
        grant->open = OPEN_KEY_LOCKED;
        return;
    }
    grant->is_of_another = first->is_of_another;
    grant->is_unsent = first->is_unsent;
    if (first->state == GRANT_DONE) {
        decide(grant, &first->lease, &first->request->digest);
        return;
    }
    grant->state = GRANT_REFUSED;
    grant->error = first->error;
    grant->detail = first->detail;
    grant->limit = first->limit;
    grant->lease.hash = first->lease.hash;
}

/* Whom a grant waits for precedes it, and has been decided as far as it will be. */
void idempotency_share(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct grant *first = keys->of[i] != NULL ? keys->of[i]->first : NULL;
        if (first != NULL && first != grants[i] && first->state != GRANT_OPEN &&
            grants[i]->state == GRANT_OPEN)
            follow(grants[i], first);
    }
}
