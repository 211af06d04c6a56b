/* POST /v1/fee-bumps: signs a fee bump, by the distribution account, for a transaction with an open lease of
 * this client. A client may request as many as it likes. */
#include <inttypes.h>

#include "base/mem.h"
#include "db_endpoint.h"
#include "http/json.h"
#include "pool/fee_bump.h"
#include "stellar/envelope_build.h"

struct bump_query {
    struct db_query query; /* first */
    struct buf xdr;
    struct envelope inner;
    int64_t max_fee_stroops; /* 0: not given */
};

/* The signed fee bump. */
struct bump {
    struct hash hash, inner_hash;
    int64_t fee_stroops;
    struct buf envelope;
};

/* The configured maximum limits the bid, so the resource fee, checked when the lease was granted, is added.
 */
static int64_t maximum_fee(const struct bump_query *request)
{
    return request->query.settings->limits.max_bump_fee_stroops + request->inner.resource_fee_stroops;
}

static enum err bump_fee(
    const struct bump_query *request, int64_t max_fee_stroops, int64_t *fee_stroops, struct detail *detail)
{
    const struct policy_limits *limits = &request->query.settings->limits;
    return policy_bump_fee(&request->inner, limits, limits->bump_base_fee_stroops, max_fee_stroops,
        maximum_fee(request), fee_stroops, detail);
}

static enum err check_signatures(const struct envelope *inner, const struct public_key *account,
    const struct hash *hash, struct detail *detail)
{
    if (inner->signature_count == 0)
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "The transaction has no signature. Keep that of the lease's transactionXdr and add the "
            "client's.");
    if (!envelope_signed_by(inner, account, hash))
        return detail_set(detail, ERR_CHANNEL_SIGNATURE_MISSING,
            "The channel account's signature is missing or invalid. Keep the one in the lease's "
            "transactionXdr.");
    if (policy_client_must_sign(inner) && inner->signature_count < 2)
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "Only the channel account has signed. The operations' sources and the extra signers sign before "
            "the fee bump.");
    return ERR_OK;
}

/* The row is committed before the reply, so that every fee bump that a client has is found by its hash. */
static enum err make_bump(
    const struct bump_query *request, struct db *db, struct bump *bump, struct detail *detail)
{
    const struct api_settings *settings = request->query.settings;
    const struct envelope *inner = &request->inner;
    struct fee_bump_lease lease;
    enum err e;
    bump->inner_hash = envelope_hash(&settings->network, inner);
    if ((e = fee_bump_find_lease(
             db, &bump->inner_hash, inner, api_client(request->query.http), &lease, detail)) != ERR_OK ||
        (e = check_signatures(inner, &lease.account, &bump->inner_hash, detail)) != ERR_OK ||
        (e = bump_fee(request, request->max_fee_stroops, &bump->fee_stroops, detail)) != ERR_OK ||
        (e = funds_check_bump(lease.spendable_stroops, bump->fee_stroops, detail)) != ERR_OK)
        return e;
    struct bump_signing signing = {.inner = buf_bytes(&request->xdr),
        .sealed = lease.sealed,
        .fee_stroops = bump->fee_stroops,
        .envelope = &bump->envelope};
    if ((e = keyd_sign_fee_bumps(settings->keyd, &signing, 1)) != ERR_OK)
        return detail_set(detail, e, "the key process does not answer");
    bump->hash = signing.hash;
    *detail = signing.detail;
    if (signing.result != ERR_OK)
        return signing.result;
    return fee_bump_record(db, &bump->hash, &bump->inner_hash, bump->fee_stroops, detail);
}

static json_t *bump_json(const struct bump *bump, const struct api_settings *settings)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "hash", api_json_hash(&bump->hash), "innerHash",
        api_json_hash(&bump->inner_hash), "transactionXdr", api_json_base64(buf_bytes(&bump->envelope)),
        "fee", api_json_decimal(bump->fee_stroops), "feeAccount", api_json_address(&settings->distribution),
        "networkPassphrase", settings->passphrase);
}

/* For a refused fee: the limit, as a member of the problem. NULL: another error. */
static json_t *fee_limit_json(const struct bump_query *request, enum err e)
{
    int64_t least;
    if (e == ERR_FEE_EXCEEDS_MAXIMUM)
        return json_pack("{s:o}", "maximumFee", api_json_decimal(maximum_fee(request)));
    if (e == ERR_FEE_BELOW_MINIMUM && bump_fee(request, 0, &least, NULL) == ERR_OK)
        return json_pack("{s:o}", "minimumFee", api_json_decimal(least));
    return NULL;
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    const struct bump_query *request = (struct bump_query *)query;
    struct bump bump = {0};
    enum err e = make_bump(request, db, &bump, detail);
    reply->body = e == ERR_OK ? bump_json(&bump, query->settings) : fee_limit_json(request, e);
    buf_free(&bump.envelope);
    return e;
}

static enum err read_request(struct db_query *query, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    struct bump_query *request = (struct bump_query *)query;
    AUTO_JSON json_t *body = NULL;
    uint64_t max_fee = 0;
    enum err e;
    if ((e = api_read_transaction(query->http, names, ARRAY_LEN(names), &body, &request->xdr, detail)) !=
        ERR_OK)
        return e;
    if (json_read_has(body, "maxFee") &&
        (e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail)) != ERR_OK)
        return e;
    request->max_fee_stroops = (int64_t)max_fee;
    e = envelope_decode(buf_bytes(&request->xdr), &request->inner, detail);
    if (e == ERR_OK && request->inner.form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED,
            "transactionXdr is a fee bump. Send its inner transaction, with its signatures.");
    return e;
}

static void wipe(struct db_query *query)
{
    buf_free(&((struct bump_query *)query)->xdr);
}

void api_post_fee_bump(struct http_request *request, void *api)
{
    static const struct db_endpoint endpoint = {.reply_ms = DB_ENDPOINT_WRITE_MS,
        .query_size = sizeof(struct bump_query),
        .read = read_request,
        .run = run,
        .wipe = wipe};
    db_endpoint_begin(request, api, &endpoint);
}
