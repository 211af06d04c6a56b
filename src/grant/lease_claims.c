/* Which lease has a claim. Nothing is recorded here: fairway.record_leases writes claims with their lease. */
#include "lease_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char sql_find[] =
    "SELECT n.ordinal, c.lease_hash, c.call,"
    " NOT EXISTS (SELECT FROM fairway.submissions s WHERE s.lease_hash = c.lease_hash)"
    " FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY n (client, claim, ordinal)"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.lease_claims k"
    "   WHERE k.client = n.client AND k.claim = n.claim LIMIT 1) c";

void lease_claims_init(struct lease_claims *claims, struct grant *const grants[], size_t count)
{
    size_t total = 0;
    claims->grants = grants;
    for (size_t i = 0; i < count; i++)
        total += grants[i]->request->authorization.count;
    claims->items = NEW_ARRAY(total, struct lease_claim);
    claims->clients = NEW_ARRAY(total, const char *);
    claims->keys = NEW_ARRAY(total, struct bytes);
    claims->places = NEW_ARRAY(total, int64_t);
    claims->expires = NEW_ARRAY(total, int64_t);
    for (size_t i = 0; i < count; i++) {
        const struct authorization *authorization = &grants[i]->request->authorization;
        claims->first[i] = claims->count;
        for (size_t k = 0; k < authorization->count; k++) {
            claims->items[claims->count].grant = i;
            claims->clients[claims->count] = grants[i]->request->client;
            claims->expires[claims->count] = authorization->entries[k].expires_ledger;
            claims->keys[claims->count++] = authorization->entries[k].key;
        }
    }
    claims->params[0] = DB_TEXTS(claims->clients, total);
    claims->params[1] = DB_BYTEAS(claims->keys, total);
}

void lease_claims_free(struct lease_claims *claims)
{
    free(claims->items);
    free(claims->clients);
    free(claims->keys);
    free(claims->places);
    free(claims->expires);
}

struct db_statement lease_claims_statement(const struct lease_claims *claims)
{
    return claims->count > 0 ? (struct db_statement){sql_find, claims->params, ARRAY_LEN(claims->params)}
                             : (struct db_statement){0};
}

void lease_claims_read(struct lease_claims *claims, const struct db_rows *rows)
{
    for (size_t row = 0; row < db_count_at_most(rows, claims->count); row++) {
        struct lease_claim *claim = &claims->items[db_ordinal(rows, row, 0, claims->count)];
        db_copy(rows, row, 1, claim->lease.bytes, sizeof claim->lease.bytes);
        db_copy(rows, row, 2, claim->digest.bytes, sizeof claim->digest.bytes);
        claim->is_unsent = db_bool(rows, row, 3);
        claim->found = claims->any_found = true;
    }
}

/* Whether the lease of this claim is for the same call: it has all that was simulated or, of a request that
 * was refused, some of the entries are all that it has. */
static bool is_same_call(
    const struct lease_request *request, const struct lease_claim items[], const struct lease_claim *claim)
{
    const size_t count = request->authorization.count;
    bool *shared AUTO_FREE = NEW_ARRAY(count, bool), all = true;
    for (size_t k = 0; k < count; k++) {
        shared[k] = items[k].found && hash_equal(&items[k].lease, &claim->lease);
        all &= shared[k];
    }
    const struct hash digest = authorization_digest(&request->authorization, shared);
    return (all || request->refusal != ERR_OK) && hash_equal(&digest, &claim->digest);
}

bool lease_claims_decide(struct lease_claims *claims, size_t i)
{
    struct grant *grant = claims->grants[i];
    const struct lease_request *request = grant->request;
    const struct lease_claim *items = &claims->items[claims->first[i]], *of = NULL;
    bool same = false;
    for (size_t k = 0; k < request->authorization.count && !same; k++)
        if (items[k].found) {
            same = is_same_call(request, items, &items[k]);
            of = same || of == NULL ? &items[k] : of;
        }
    if (of == NULL || (!same && request->refusal != ERR_OK && request->refusal != ERR_AUTHORIZATION_USED))
        return false;
    grant->state = same && request->submits ? GRANT_DONE : GRANT_REFUSED;
    grant->lease.hash = of->lease;
    grant->is_of_another = true;
    grant->is_unsent = of->is_unsent;
    if (grant->state == GRANT_REFUSED)
        grant->error = detail_set(&grant->detail, ERR_AUTHORIZATION_LEASED,
            "A transaction of yours has this authorization, and is pending or was executed: see hash.");
    return true;
}

bool lease_claims_conflict(struct lease_claims *claims, size_t i)
{
    const size_t end = claims->first[i] + claims->grants[i]->request->authorization.count;
    for (size_t own = claims->first[i]; own < end; own++)
        for (size_t k = 0; k < claims->first[i]; k++)
            if (claims->taken[claims->items[k].grant] && bytes_equal(claims->keys[k], claims->keys[own]) &&
                strcmp(claims->clients[k], claims->clients[own]) == 0)
                return true;
    claims->taken[i] = true;
    return false;
}

void lease_claims_place(struct lease_claims *claims, size_t i, size_t place)
{
    for (size_t k = 0; k < claims->grants[i]->request->authorization.count; k++)
        claims->places[claims->first[i] + k] = (int64_t)place;
}
