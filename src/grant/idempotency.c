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

/* Which lease a client has for a call: an open one, or one that the network has executed or may have. There
 * is at most one. The days are those of a key. */
static const char sql_find_calls[] =
    "SELECT n.ordinal, l.hash FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY n (client, natural_key, "
    "ordinal)"
    " CROSS JOIN LATERAL (SELECT m.hash FROM fairway.leases m"
    "   LEFT JOIN fairway.lease_results r ON r.granted_at = m.granted_at AND r.hash = m.hash"
    "   WHERE m.natural_key = n.natural_key AND m.client = n.client"
    "   AND m.granted_at >= date_trunc('day', now(), 'UTC') - interval '1 day'"
    "   AND m.granted_at < date_trunc('day', now(), 'UTC') + interval '2 days'"
    "   AND (r.result IS NULL OR r.result IN ('confirmed', 'consumed')) LIMIT 1) l";

/* Of a hash, so that clients cannot choose keys with one number. */
static int64_t lock_of(const char *kind, const char *client, struct bytes key)
{
    struct buf name CLEANUP(buf_free) = {0};
    buf_add(&name, kind, strlen(kind) + 1);
    buf_add(&name, client, strlen(client) + 1);
    buf_add_bytes(&name, key);
    return (int64_t)be64_get(sha256(buf_bytes(&name)).bytes);
}

int64_t idempotency_lock(const char *client, const char *key)
{
    return lock_of("idempotency", client, (struct bytes){(const uint8_t *)key, strlen(key)});
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

/* NULL: the request has no natural key. */
static struct idempotency_key *call_of(struct idempotency_keys *keys, const struct lease_request *request)
{
    const struct bytes hash = BYTES_OF(request->natural_key.bytes);
    if (!request->has_natural_key)
        return NULL;
    for (size_t i = 0; i < keys->call_count; i++)
        if (strcmp(keys->call_clients[i], request->client) == 0 && bytes_equal(keys->call_hashes[i], hash))
            return &keys->calls[i];
    keys->call_clients[keys->call_count] = request->client;
    keys->call_hashes[keys->call_count] = hash;
    return &keys->calls[keys->call_count++];
}

void idempotency_init(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    size_t digests = 0;
    for (size_t i = 0; i < count; i++) {
        keys->of[i] = key_of(keys, grants[i]);
        keys->call_of[i] = call_of(keys, grants[i]->request);
        if (keys->of[i] != NULL)
            keys->digests[digests++] = BYTES_OF(grants[i]->request->digest.bytes);
    }
    for (size_t i = 0; i < keys->call_count; i++)
        keys->locks[keys->count + i] = lock_of("call", keys->call_clients[i], keys->call_hashes[i]);
    keys->lock_params[0] = DB_I64S(keys->locks, keys->count + keys->call_count);
    keys->call_params[0] = DB_TEXTS(keys->call_clients, keys->call_count);
    keys->call_params[1] = DB_BYTEAS(keys->call_hashes, keys->call_count);
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
    out[0] = out[1] = out[2] = (struct db_statement){0};
    if (keys->count + keys->call_count > 0)
        out[0] = (struct db_statement){sql_lock, keys->lock_params, ARRAY_LEN(keys->lock_params)};
    if (keys->count > 0)
        out[1] = (struct db_statement){sql_find, keys->find_params, ARRAY_LEN(keys->find_params)};
    if (keys->call_count > 0)
        out[2] = (struct db_statement){sql_find_calls, keys->call_params, ARRAY_LEN(keys->call_params)};
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
    snprintf(out->lease.status, sizeof out->lease.status, "%s", db_text(rows, row, 8));
    if (!db_is_null(rows, row, 6))
        buf_add_bytes(&out->lease.envelope, db_bytea(rows, row, 6));
    return ERR_OK;
}

static enum err read_call(
    const struct db_rows *rows, size_t row, struct idempotency_key *out, struct detail *detail)
{
    struct bytes hash = db_bytea(rows, row, 1);
    if (hash.len != sizeof out->lease.hash.bytes)
        return detail_set(detail, ERR_INTERNAL, "malformed hash of a lease");
    memcpy(out->lease.hash.bytes, hash.data, hash.len);
    return ERR_OK;
}

static size_t rows_of(const struct db_rows *rows) /* NULL: the statement was omitted */
{
    return rows != NULL ? db_count(rows) : 0;
}

enum err idempotency_read(struct idempotency_keys *keys,
    struct db_rows *const results[static IDEMPOTENCY_STATEMENTS], struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t row = 0; row < rows_of(results[0]); row++) {
        const size_t at = (size_t)db_i64(results[0], row, 0) - 1;
        (at < keys->count ? &keys->keys[at] : &keys->calls[at - keys->count])->locked = true;
    }
    for (size_t row = 0; e == ERR_OK && row < rows_of(results[1]); row++) {
        struct idempotency_key *key = &keys->keys[db_i64(results[1], row, 0) - 1];
        key->found = keys->any_found = true;
        e = read_lease(results[1], row, key, detail);
    }
    for (size_t row = 0; e == ERR_OK && row < rows_of(results[2]); row++) {
        struct idempotency_key *call = &keys->calls[db_i64(results[2], row, 0) - 1];
        call->found = keys->any_found = true;
        e = read_call(results[2], row, call, detail);
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

/* Decides the grant by the lease that another request has for its call. */
static void decide_call(struct grant *grant, const struct hash *lease)
{
    grant->state = grant->request->submits ? GRANT_DONE : GRANT_REFUSED;
    grant->lease.hash = *lease;
    grant->is_of_another = true;
    if (grant->state == GRANT_REFUSED)
        grant->error = detail_set(&grant->detail, ERR_AUTHORIZATION_LEASED,
            "A transaction of yours has this authorization, and is pending or was executed: see hash.");
}

/* Whether the grant, which no other one with its idempotency key precedes, may take a lease for its call. */
static bool may_call(struct idempotency_key *call, struct grant *grant)
{
    if (call->found)
        decide_call(grant, &call->lease.hash);
    else if (!call->locked)
        grant->open = OPEN_KEY_LOCKED;
    else if (call->first == NULL) {
        call->first = grant;
        return true;
    }
    return false;
}

bool idempotency_decide(struct idempotency_keys *keys, struct grant *const grants[], size_t i)
{
    const struct idempotency_key *key = keys->of[i];
    if (key != NULL && key->found)
        decide(grants[i], &key->lease, &key->digest);
    else if (key != NULL && !key->locked)
        grants[i]->open = OPEN_KEY_LOCKED;
    else if (key == NULL || key->first == grants[i])
        return keys->call_of[i] == NULL || may_call(keys->call_of[i], grants[i]);
    return false;
}

/* Grants that wait for another one of the batch, which is for the same call. Those that wait for their
 * idempotency key are not among them. */
static void share_calls(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct idempotency_key *key = keys->of[i];
        const struct grant *first = keys->call_of[i] != NULL ? keys->call_of[i]->first : NULL;
        if (first == NULL || first == grants[i] || (key != NULL && key->first != grants[i]) ||
            grants[i]->state != GRANT_OPEN || grants[i]->open == OPEN_KEY_LOCKED)
            continue;
        if (first->state == GRANT_DONE)
            decide_call(grants[i], &first->lease.hash);
        else if (first->state == GRANT_REFUSED)
            grants[i]->open = OPEN_KEY_LOCKED; /* the first took no lease: this one may */
    }
}

void idempotency_share(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    share_calls(keys, grants, count);
    for (size_t i = 0; i < count; i++) {
        const struct idempotency_key *key = keys->of[i];
        if (key == NULL || key->found || !key->locked || key->first == grants[i])
            continue;
        const struct grant *first = key->first;
        grants[i]->is_of_another = first->is_of_another;
        if (first->state == GRANT_DONE)
            decide(grants[i], &first->lease, &first->request->digest);
        else if (first->state == GRANT_REFUSED &&
                 hash_equal(&grants[i]->request->digest, &first->request->digest)) {
            grants[i]->state = GRANT_REFUSED;
            grants[i]->error = first->error;
            grants[i]->detail = first->detail;
            grants[i]->limit = first->limit;
            grants[i]->lease.hash = first->lease.hash;
        } else if (first->state == GRANT_REFUSED)
            grants[i]->open = OPEN_KEY_LOCKED; /* the first took no lease: this one may */
    }
}
