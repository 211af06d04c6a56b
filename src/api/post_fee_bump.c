/* POST /v1/fee-bumps: the distribution account pays for a transaction that is a live lease of this client, as
 * often as it asks. */
#include "base/mem.h"
#include "http/json.h"
#include "pool/fee_bump.h"
#include "db_endpoint.h"

struct bump_question {
    struct db_query question; /* first */
    struct buf xdr;
    struct envelope inner;
    int64_t max_fee_stroops; /* 0: not given */
};

/* The finished fee bump. */
struct bump {
    struct hash hash, inner_hash;
    int64_t fee_stroops;
    struct buf envelope;
};

/* The cap is on what is bid; the resource fee was capped when the lease was granted. */
static int64_t maximum_fee(const struct bump_question *asked)
{
    return asked->question.settings->limits.max_bump_fee_stroops + asked->inner.resource_fee_stroops;
}

static enum err check_signatures(const struct envelope *inner, const struct public_key *account,
    const struct hash *hash, struct detail *detail)
{
    if (!envelope_signed_by(inner, account, hash))
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED, "The channel account's signature is missing.");
    if (policy_client_must_sign(inner) && inner->signature_count < 2)
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "No signature of the operations' sources or of the extra signers is there.");
    return ERR_OK;
}

/* Recorded before it is answered: a fee bump that left can always be found by its hash. */
static enum err make_bump(
    const struct bump_question *asked, struct db *db, struct bump *bump, struct detail *detail)
{
    const struct api_settings *settings = asked->question.settings;
    const struct envelope *inner = &asked->inner;
    struct fee_bump_lease lease;
    enum err e;
    bump->inner_hash = envelope_hash(&settings->network, inner);
    if ((e = fee_bump_find_lease(db, &bump->inner_hash, client_of(asked->question.http), &lease, detail)) !=
            ERR_OK ||
        (e = check_signatures(inner, &lease.account, &bump->inner_hash, detail)) != ERR_OK ||
        (e = policy_bump_fee(inner, &settings->limits, settings->limits.bump_base_fee_stroops,
             asked->max_fee_stroops, maximum_fee(asked), &bump->fee_stroops, detail)) != ERR_OK ||
        (e = funds_check_bump(lease.spendable_stroops, bump->fee_stroops, detail)) != ERR_OK ||
        (e = keyd_sign_fee_bump(settings->keyd, buf_bytes(&asked->xdr), &lease.sealed, bump->fee_stroops,
             &bump->envelope, &bump->hash, detail)) != ERR_OK)
        return e;
    return fee_bump_record(db, &bump->hash, &bump->inner_hash, bump->fee_stroops, detail);
}

static json_t *bump_json(const struct bump *bump, const struct api_settings *settings)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "hash", json_hash(&bump->hash), "innerHash",
        json_hash(&bump->inner_hash), "transactionXdr", json_base64(buf_bytes(&bump->envelope)), "fee",
        json_decimal(bump->fee_stroops), "feeAccount", json_address(&settings->distribution),
        "networkPassphrase", settings->passphrase);
}

static enum err ask(struct db_query *question, struct db *db, struct answer *answer, struct detail *detail)
{
    const struct bump_question *asked = (struct bump_question *)question;
    const struct api_settings *settings = question->settings;
    struct bump bump = {0};
    enum err e = make_bump(asked, db, &bump, detail);
    if (e == ERR_OK)
        answer->body = bump_json(&bump, settings);
    else if (e == ERR_FEE_EXCEEDS_MAXIMUM)
        answer->body = json_pack("{s:o}", "maximumFee", json_decimal(maximum_fee(asked)));
    buf_free(&bump.envelope);
    return e;
}

static enum err read_request(struct db_query *question, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    struct bump_question *asked = (struct bump_question *)question;
    AUTO_JSON json_t *body = NULL;
    uint64_t max_fee = 0;
    enum err e;
    if ((e = read_transaction_body(question->http, names, ARRAY_LEN(names), &body, &asked->xdr, detail)) !=
        ERR_OK)
        return e;
    if (json_read_has(body, "maxFee") &&
        (e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail)) != ERR_OK)
        return e;
    asked->max_fee_stroops = (int64_t)max_fee;
    e = envelope_decode(buf_bytes(&asked->xdr), &asked->inner, detail);
    if (e == ERR_OK && asked->inner.form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED,
            "transactionXdr is a fee bump already; send the transaction inside.");
    return e;
}

static void wipe(struct db_query *question)
{
    buf_free(&((struct bump_question *)question)->xdr);
}

void post_fee_bump(struct http_request *request, void *api)
{
    static const struct db_endpoint kind = {.answer_ms = DB_ENDPOINT_WRITE_MS,
        .size = sizeof(struct bump_question),
        .read = read_request,
        .ask = ask,
        .wipe = wipe};
    db_endpoint_begin(request, api, &kind);
}
