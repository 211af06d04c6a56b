/* POST /v1/fee-bumps: the distribution account pays for a transaction that is a live lease of this client, as
 * often as it asks. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "context.h"
#include "http/json.h"

struct bump_job {
    struct work work; /* first: the workers give it back */
    const struct api_settings *settings;
    struct http_request *http;
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

static void job_free(struct bump_job *job)
{
    buf_free(&job->xdr);
    free(job);
}

/* The cap is on what is bid; the resource fee was capped when the lease was granted. */
static int64_t maximum_fee(const struct bump_job *job)
{
    return job->settings->max_bump_fee_stroops + job->inner.resource_fee_stroops;
}

static enum err check_signatures(const struct bump_job *job, const struct public_key *account,
    const struct hash *hash, struct detail *detail)
{
    if (!envelope_signed_by(&job->inner, account, hash))
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED, "The channel account's signature is missing.");
    if (policy_client_must_sign(&job->inner) && job->inner.signature_count < 2)
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "No signature of the operations' sources or of the extra signers is there.");
    return ERR_OK;
}

/* Recorded before it is answered: a fee bump that left can always be found by its hash. */
static enum err make_bump(const struct bump_job *job, struct db *db, struct bump *bump, struct detail *detail)
{
    const struct api_settings *settings = job->settings;
    struct lease_key key;
    enum err e;
    bump->inner_hash = envelope_hash(&settings->network, &job->inner);
    if ((e = lease_key(db, &bump->inner_hash, client_of(job->http), &key, detail)) != ERR_OK ||
        (e = check_signatures(job, &key.account, &bump->inner_hash, detail)) != ERR_OK ||
        (e = policy_bump_fee(&job->inner, &settings->limits, settings->bump_base_fee_stroops,
             job->max_fee_stroops, maximum_fee(job), &bump->fee_stroops, detail)) != ERR_OK ||
        (e = keyd_sign_fee_bump(settings->keyd, buf_bytes(&job->xdr), &key.sealed, bump->fee_stroops,
             &bump->envelope, &bump->hash, detail)) != ERR_OK)
        return e;
    return fee_bump_record(db, &bump->hash, &bump->inner_hash, bump->fee_stroops, detail);
}

static void refuse_bump(struct bump_job *job, enum err e, const struct detail *detail)
{
    if (e == ERR_KEYD_UNAVAILABLE && job->settings->fatal != NULL)
        job->settings->fatal(e);
    if (e != ERR_FEE_EXCEEDS_MAXIMUM) {
        refuse(job->http, e, detail);
        return;
    }
    AUTO_FREE char *members = mem_format("{\"maximumFee\":\"%" PRId64 "\"}", maximum_fee(job));
    refuse_with(job->http, e, detail, members);
}

static void run(struct work *work, struct db *db)
{
    struct bump_job *job = (struct bump_job *)work;
    const struct api_settings *settings = job->settings;
    struct bump bump = {0};
    struct detail detail = {0};
    enum err e = db == NULL ? ERR_SHUTTING_DOWN : make_bump(job, db, &bump, &detail);
    if (e == ERR_OK)
        reply(job->http, 200,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "hash", json_hash(&bump.hash), "innerHash",
                json_hash(&bump.inner_hash), "transactionXdr", json_base64(buf_bytes(&bump.envelope)), "fee",
                json_decimal(bump.fee_stroops), "feeAccount", json_address(&settings->distribution),
                "networkPassphrase", settings->passphrase));
    else
        refuse_bump(job, e, &detail);
    buf_free(&bump.envelope);
    job_free(job);
}

static enum err read_request(struct bump_job *job, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    AUTO_JSON json_t *body = NULL;
    uint64_t max_fee = 0;
    enum err e = read_transaction_body(job->http, names, ARRAY_LEN(names), &body, &job->xdr, detail);
    if (e == ERR_OK && json_read_has(body, "maxFee"))
        e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail);
    job->max_fee_stroops = (int64_t)max_fee;
    if (e == ERR_OK)
        e = envelope_decode(buf_bytes(&job->xdr), &job->inner, detail);
    if (e == ERR_OK && job->inner.form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED,
            "transactionXdr is a fee bump already; send the transaction inside.");
    return e;
}

void post_fee_bump(struct http_request *request, void *context)
{
    const struct api *api = context;
    struct bump_job *job = NEW(struct bump_job);
    struct detail detail = {0};
    job->work.run = run;
    job->settings = &api->settings;
    job->http = request;
    enum err e = read_request(job, &detail);
    if (e == ERR_OK)
        e = workers_submit(api->workers, &job->work);
    if (e != ERR_OK) {
        refuse(request, e, &detail);
        job_free(job);
    }
}
