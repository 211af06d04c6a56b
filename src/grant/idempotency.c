#include "idempotency.h"

#include <string.h>

#include "base/mem.h"

/* It never waits: a replica that hangs in its transaction must not block the batches of others. */
static const char sql_lock[] =
    "SELECT k.ordinal FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (client, key, ordinal)"
    " WHERE pg_try_advisory_xact_lock(fairway.key_lock(k.client, k.key))";

/* A statement of its own after the locks, so that its snapshot sees what any earlier holder of a lock has
 * committed. Only a request with the same body gets the envelope. */
static const char sql_find[] =
    "SELECT f.ordinal, f.hash, f.account, f.sequence, f.sequence_ledger, f.max_time,"
    " CASE WHEN f.digest = ANY ($3::bytea[]) THEN f.envelope END, f.digest"
    " FROM fairway.find_keys($1, $2) f";

static const char sql_record_tokens[] = "SELECT fairway.record_token_keys($1, $2, $3, $4)";

/* NULL when the text is empty. */
static struct idempotency_key *key_of(
    struct idempotency_keys *keys, const struct lease_request *request, const char *text)
{
    if (text[0] == '\0')
        return NULL;
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->clients[i], request->client) == 0 && strcmp(keys->texts[i], text) == 0)
            return &keys->keys[i];
    keys->clients[keys->count] = request->client;
    keys->texts[keys->count] = text;
    keys->keys[keys->count].request = request;
    return &keys->keys[keys->count++];
}

void idempotency_init(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    size_t digests = 0;
    for (size_t i = 0; i < count; i++) {
        keys->of[i] = key_of(keys, grants[i]->request, grants[i]->request->idempotency_key);
        keys->token_of[i] = key_of(keys, grants[i]->request, grants[i]->request->token_key);
        if (keys->of[i] != NULL)
            keys->digests[digests++] = BYTES_OF(grants[i]->request->digest.bytes);
    }
    keys->params[0] = DB_TEXTS(keys->clients, keys->count);
    keys->params[1] = DB_TEXTS(keys->texts, keys->count);
    keys->params[2] = DB_BYTEAS(keys->digests, digests);
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
    out[0] = (struct db_statement){sql_lock, keys->params, 2};
    out[1] = (struct db_statement){sql_find, keys->params, ARRAY_LEN(keys->params)};
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
    const struct idempotency_key *key = keys->of[i], *token = keys->token_of[i];
    if (key == NULL)
        return true;
    if (key->found || (token != NULL && token->found)) {
        const struct idempotency_key *found = key->found ? key : token;
        decide(grants[i], &found->lease, &found->digest);
        return false;
    }
    /* If another request of this batch has the same token, this one waits, and then gets that request's
     * lease. */
    if (!key->locked || (token != NULL && (!token->locked || token->request != grants[i]->request))) {
        grants[i]->open = OPEN_KEY_LOCKED;
        return false;
    }
    return key->request == grants[i]->request;
}

/* The lease that grant i has, or will have when its batch is committed. NULL: none. */
static const struct lease *lease_of(
    const struct idempotency_keys *keys, struct grant *const grants[], size_t count, size_t i)
{
    static const struct hash none;
    const struct lease *lease = &grants[i]->lease;
    for (size_t k = 0; k < count; k++)
        if (grants[i]->state == GRANT_OPEN && grants[k]->request == keys->of[i]->request)
            lease = &grants[k]->lease;
    return hash_equal(&lease->hash, &none) ? NULL : lease;
}

void idempotency_tokens(const struct idempotency_keys *keys, struct grant *const grants[], size_t count,
    struct idempotency_tokens *out)
{
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct idempotency_key *token = keys->token_of[i];
        const struct lease_request *request = grants[i]->request;
        if (token == NULL || token->found || !token->locked || token->request != request ||
            grants[i]->state == GRANT_REFUSED || grants[i]->open == OPEN_KEY_LOCKED)
            continue;
        const struct lease *lease = lease_of(keys, grants, count, i);
        if (lease == NULL)
            continue;
        out->clients[out->count] = request->client;
        out->texts[out->count] = request->token_key;
        out->digests[out->count] = BYTES_OF(request->digest.bytes);
        out->hashes[out->count++] = BYTES_OF(lease->hash.bytes);
    }
    out->params[0] = DB_TEXTS(out->clients, out->count);
    out->params[1] = DB_TEXTS(out->texts, out->count);
    out->params[2] = DB_BYTEAS(out->digests, out->count);
    out->params[3] = DB_BYTEAS(out->hashes, out->count);
}

struct db_statement idempotency_tokens_statement(const struct idempotency_tokens *tokens)
{
    return tokens->count == 0
               ? (struct db_statement){0}
               : (struct db_statement){sql_record_tokens, tokens->params, ARRAY_LEN(tokens->params)};
}

void idempotency_share(struct idempotency_keys *keys, struct grant *const grants[], size_t count)
{
    const struct grant *first[IDEMPOTENCY_KEYS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct idempotency_key *key = keys->of[i];
        const bool has_first_key = key != NULL && !key->found && key->locked;
        if (!has_first_key || (key->request != grants[i]->request && grants[i]->state != GRANT_OPEN))
            continue;
        const size_t n = (size_t)(key - keys->keys);
        if (key->request == grants[i]->request)
            first[n] = grants[i];
        else if (first[n] == NULL)
            continue;
        else if (first[n]->state == GRANT_DONE)
            decide(grants[i], &first[n]->lease, &first[n]->request->digest);
        else if (first[n]->state == GRANT_REFUSED &&
                 hash_equal(&grants[i]->request->digest, &first[n]->request->digest)) {
            grants[i]->state = GRANT_REFUSED;
            grants[i]->error = first[n]->error;
            grants[i]->detail = first[n]->detail;
            grants[i]->limit = first[n]->limit;
        } else if (first[n]->state == GRANT_REFUSED)
            grants[i]->open = OPEN_KEY_LOCKED; /* the first took no lease: this one may */
    }
}
