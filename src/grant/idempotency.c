/* Which lease the key of a request has. Nothing is recorded here: fairway.record_leases writes a key with its
 * lease. */
#include "idempotency.h"

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
    " CASE WHEN k.digest = ANY ($3::bytea[]) THEN l.envelope END, k.digest"
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY n (client, key, ordinal)"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.idempotency_keys i WHERE i.client = n.client"
    "   AND i.key = n.key AND i.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND i.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days' LIMIT 1) k"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.leases m WHERE"
    "   fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(k.granted_at, k.lease_hash)"
    "   AND m.hash = k.lease_hash AND m.granted_at = k.granted_at"
    "   AND m.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND m.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days' LIMIT 1) l";

/* Of a hash, so that clients cannot choose keys with one number. */
int64_t idempotency_lock(const char *client, const char *key)
{
    struct buf name CLEANUP(buf_free) = {0};
    buf_add(&name, "idempotency", sizeof "idempotency");
    buf_add(&name, client, strlen(client) + 1);
    buf_add(&name, key, strlen(key));
    return (int64_t)be64_get(sha256(buf_bytes(&name)).bytes);
}

/* NULL: the request has no key. */
static struct idempotency_key *key_of(struct idempotency_keys *keys, const struct grant *grant)
{
    const char *client = grant->request->client, *text = grant->request->idempotency_key;
    if (text[0] == '\0')
        return NULL;
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->clients[i], client) == 0 && strcmp(keys->texts[i], text) == 0)
            return &keys->keys[i];
    keys->clients[keys->count] = client;
    keys->texts[keys->count] = text;
    keys->locks[keys->count] = idempotency_lock(client, text);
    keys->keys[keys->count].first = grant;
    return &keys->keys[keys->count++];
}

void idempotency_init(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    size_t digests = 0;
    for (size_t i = 0; i < count; i++) {
        keys->of[i] = key_of(keys, grants[i]);
        if (keys->of[i] != NULL)
            keys->digests[digests++] = BYTES_OF(grants[i]->request->digest.bytes);
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
    struct bytes hash = db_bytea(rows, row, 1), digest = db_bytea(rows, row, 7);
    if (hash.len != sizeof out->lease.hash.bytes || digest.len != sizeof out->digest.bytes ||
        address_decode(db_text(rows, row, 2), &out->lease.account) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "malformed lease of account %s", db_text(rows, row, 2));
    memcpy(out->lease.hash.bytes, hash.data, hash.len);
    memcpy(out->digest.bytes, digest.data, digest.len);
    out->lease.sequence = db_i64(rows, row, 3);
    out->lease.sequence_ledger = db_i64(rows, row, 4);
    out->lease.max_time_s = (uint64_t)db_i64(rows, row, 5);
    if (!db_is_null(rows, row, 6))
        buf_add_bytes(&out->lease.envelope, db_bytea(rows, row, 6));
    return ERR_OK;
}

enum err idempotency_read(struct idempotency_keys *keys,
    struct db_rows *const results[static IDEMPOTENCY_STATEMENTS], struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t row = 0; row < db_count(results[0]); row++)
        keys->keys[db_i64(results[0], row, 0) - 1].locked = true;
    for (size_t row = 0; e == ERR_OK && row < db_count(results[1]); row++) {
        struct idempotency_key *key = &keys->keys[db_i64(results[1], row, 0) - 1];
        key->found = keys->any_found = true;
        e = read_lease(results[1], row, key, detail);
    }
    return e;
}

static struct lease copy_of(const struct lease *lease)
{
    struct lease copy = *lease;
    copy.envelope = (struct buf){0};
    buf_add_bytes(&copy.envelope, buf_bytes(&lease->envelope));
    return copy;
}

static enum err check_body(
    const struct lease_request *request, const struct hash *digest, struct detail *detail)
{
    if (hash_equal(&request->digest, digest))
        return ERR_OK;
    return detail_set(detail, ERR_IDEMPOTENCY_CONFLICT,
        "This Idempotency-Key took a lease for a body with other bytes. A retry must send the same bytes; "
        "another transaction, or one whose lease has expired, needs a new key.");
}

/* Decides the grant by the lease that its key has. */
static void decide(struct grant *grant, const struct lease *lease, const struct hash *digest)
{
    grant->error = check_body(grant->request, digest, &grant->detail);
    grant->state = grant->error == ERR_OK ? GRANT_DONE : GRANT_REFUSED;
    if (grant->state == GRANT_DONE)
        grant->lease = copy_of(lease);
}

bool idempotency_decide(struct idempotency_keys *keys, struct grant *const grants[], size_t i)
{
    const struct idempotency_key *key = keys->of[i];
    if (key == NULL)
        return true;
    if (key->found) {
        decide(grants[i], &key->lease, &key->digest);
        return false;
    }
    if (!key->locked)
        grants[i]->open = OPEN_KEY_LOCKED;
    return key->locked && key->first == grants[i];
}

void idempotency_share(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct idempotency_key *key = keys->of[i];
        if (key == NULL || key->found || !key->locked || key->first == grants[i])
            continue;
        const struct grant *first = key->first;
        if (first->state == GRANT_DONE)
            decide(grants[i], &first->lease, &first->request->digest);
        else if (first->state == GRANT_REFUSED &&
                 hash_equal(&grants[i]->request->digest, &first->request->digest)) {
            grants[i]->state = GRANT_REFUSED;
            grants[i]->error = first->error;
            grants[i]->detail = first->detail;
            grants[i]->limit = first->limit;
        } else if (first->state == GRANT_REFUSED)
            grants[i]->open = OPEN_KEY_LOCKED; /* the first took no lease: this one may */
    }
}
