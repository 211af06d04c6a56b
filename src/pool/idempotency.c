#include "idempotency.h"

#include <string.h>

#include "base/mem.h"
#include "record.h"

/* Never waited for: one replica that hangs in its transaction must not hang a batch of others. */
static const char sql_lock[] =
    "SELECT k.ordinal FROM unnest($1::int8[]) WITH ORDINALITY AS k (number, ordinal)"
    " WHERE pg_try_advisory_xact_lock(k.number)";

#define LEASE_COLUMNS                                                                                        \
    " l.hash, l.account, l.sequence, l.sequence_ledger, l.max_time, l.envelope, l.request_digest"

/* Behind the locks, with a snapshot of its own: who had a lock before us has committed or is gone. */
static const char sql_find_all[] =
    "SELECT n.ordinal," LEASE_COLUMNS " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY"
    " AS n (client, idempotency_key, ordinal)"
    " JOIN fairway.leases l ON l.client = n.client"
    " AND l.idempotency_key = n.idempotency_key";

static bool same_key(const struct lease_request *a, const struct lease_request *b)
{
    return strcmp(a->client, b->client) == 0 && strcmp(a->idempotency_key, b->idempotency_key) == 0;
}

/* Two keys with one number would only be granted one after the other. */
static int64_t lock_number(const struct lease_request *request)
{
    struct buf name CLEANUP(buf_free) = {0};
    buf_add(&name, "idempotency", sizeof "idempotency");
    buf_add(&name, request->client, strlen(request->client) + 1);
    buf_add(&name, request->idempotency_key, strlen(request->idempotency_key));
    return (int64_t)be64_get(sha256(buf_bytes(&name)).bytes);
}

static struct batch_key *key_of(struct batch_keys *keys, const struct lease_request *request)
{
    for (size_t i = 0; i < keys->count; i++)
        if (same_key(keys->keys[i].request, request))
            return &keys->keys[i];
    keys->locks[keys->count] = lock_number(request);
    keys->clients[keys->count] = request->client;
    keys->texts[keys->count] = request->idempotency_key;
    keys->keys[keys->count].request = request;
    return &keys->keys[keys->count++];
}

void batch_keys_init(struct batch_keys *keys, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (grants[i]->request->idempotency_key[0] != '\0')
            keys->of[i] = key_of(keys, grants[i]->request);
    keys->lock_params[0] = DB_I64S(keys->locks, keys->count);
    keys->find_params[0] = DB_TEXTS(keys->clients, keys->count);
    keys->find_params[1] = DB_TEXTS(keys->texts, keys->count);
}

void batch_keys_wipe(struct batch_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        lease_wipe(&keys->keys[i].lease.lease);
}

void batch_keys_statements(
    const struct batch_keys *keys, struct db_statement out[static BATCH_KEY_STATEMENTS])
{
    out[0] = (struct db_statement){sql_lock, keys->lock_params, ARRAY_LEN(keys->lock_params)};
    out[1] = (struct db_statement){sql_find_all, keys->find_params, ARRAY_LEN(keys->find_params)};
}

/* LEASE_COLUMNS from this column on. */
static enum err read_lease(
    const struct db_rows *rows, size_t row, int column, struct recorded_lease *out, struct detail *detail)
{
    struct bytes hash = db_bytea(rows, row, column), digest = db_bytea(rows, row, column + 6);
    if (hash.len != sizeof out->lease.hash.bytes || digest.len != sizeof out->digest.bytes ||
        address_decode(db_text(rows, row, column + 1), &out->lease.account) != ERR_OK)
        return detail_set(
            detail, ERR_INTERNAL, "malformed lease of account %s", db_text(rows, row, column + 1));
    memcpy(out->lease.hash.bytes, hash.data, hash.len);
    memcpy(out->digest.bytes, digest.data, digest.len);
    out->lease.sequence = db_i64(rows, row, column + 2);
    out->lease.sequence_ledger = db_i64(rows, row, column + 3);
    out->lease.max_time_s = (uint64_t)db_i64(rows, row, column + 4);
    buf_add_bytes(&out->lease.envelope, db_bytea(rows, row, column + 5));
    return ERR_OK;
}

enum err batch_keys_read(struct batch_keys *keys, struct db_rows *const answers[static BATCH_KEY_STATEMENTS],
    struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t row = 0; row < db_count(answers[0]); row++)
        keys->keys[db_i64(answers[0], row, 0) - 1].locked = true;
    for (size_t row = 0; e == ERR_OK && row < db_count(answers[1]); row++) {
        struct batch_key *key = &keys->keys[db_i64(answers[1], row, 0) - 1];
        key->found = keys->any_found = true;
        e = read_lease(answers[1], row, 1, &key->lease, detail);
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
    return detail_set(
        detail, ERR_IDEMPOTENCY_CONFLICT, "This Idempotency-Key took a lease for another body.");
}

/* The grant's key has this lease. */
static void give(struct grant *grant, const struct lease *lease, const struct hash *digest)
{
    grant->error = check_body(grant->request, digest, &grant->detail);
    grant->state = grant->error == ERR_OK ? GRANT_DONE : GRANT_REFUSED;
    if (grant->state == GRANT_DONE)
        grant->lease = copy_of(lease);
}

bool batch_keys_decide(struct batch_keys *keys, struct grant *const grants[], size_t i)
{
    const struct batch_key *key = keys->of[i];
    if (key == NULL)
        return true;
    if (key->found)
        give(grants[i], &key->lease.lease, &key->lease.digest);
    else if (!key->locked)
        grants[i]->elsewhere = true;
    return !key->found && key->locked && key->request == grants[i]->request;
}

void batch_keys_share(struct batch_keys *keys, struct grant *const grants[], size_t count)
{
    const struct grant *first[GRANT_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        const struct batch_key *key = keys->of[i];
        if (key == NULL || key->found || !key->locked)
            continue;
        const size_t n = (size_t)(key - keys->keys);
        if (key->request == grants[i]->request)
            first[n] = grants[i];
        else if (first[n]->state == GRANT_DONE)
            give(grants[i], &first[n]->lease, &first[n]->request->digest);
        else if (first[n]->state == GRANT_REFUSED &&
                 hash_equal(&grants[i]->request->digest, &first[n]->request->digest)) {
            grants[i]->state = GRANT_REFUSED;
            grants[i]->error = first[n]->error;
            grants[i]->detail = first[n]->detail;
        } else
            grants[i]->elsewhere = first[n]->state == GRANT_REFUSED; /* it took no lease: the key is free */
    }
}

static const char sql_find[] = "SELECT" LEASE_COLUMNS " FROM fairway.leases l"
                               " WHERE l.client = $1 AND l.idempotency_key = $2";

static enum err find(struct db *db, const struct lease_request *request, struct recorded_lease *out,
    bool *found, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_begin(db, detail);
    if (e != ERR_OK)
        return e;
    e = db_query(
        db, DB_SQL(sql_find, DB_TEXT(request->client), DB_TEXT(request->idempotency_key)), &rows, detail);
    *found = e == ERR_OK && db_count(rows) == 1;
    if (!*found)
        return e;
    e = read_lease(rows, 0, 0, out, detail);
    return e != ERR_OK ? e : db_commit_durably(db, detail);
}

enum err lease_find(
    struct db *db, const struct lease_request *request, bool *found, struct lease *out, struct detail *detail)
{
    struct recorded_lease recorded = {0};
    enum err e = find(db, request, &recorded, found, detail);
    db_rollback(db);
    if (e == ERR_OK && *found)
        e = check_body(request, &recorded.digest, detail);
    if (e == ERR_OK)
        *out = recorded.lease;
    else
        lease_wipe(&recorded.lease);
    return e;
}
