/* Writes replies and problems. No endpoint's rule is here. */
#include "reply.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rate_limit.h"
#include "base/text.h"
#include "pool/grants_allowed.h"

#define LIMIT_DEFAULT 100

const char *api_client(const struct http_request *request)
{
    const struct auth_client *client = request->kept;
    return client == NULL ? "" : client->name;
}

const struct limits *api_limits(const struct http_request *request)
{
    const struct auth_client *client = request->kept;
    return client == NULL ? &limits_default : &client->limits;
}

void api_reply_text(struct http_request *request, int status, char *text)
{
    if (text != NULL)
        http_reply_json(request, status, text);
    else
        api_refuse(request, ERR_INTERNAL, &(struct detail){"the reply contains text that is not UTF-8"});
}

void api_reply(struct http_request *request, int status, struct json_write *object)
{
    api_reply_text(request, status, json_write_end(object));
}

/* Seconds after which a retry is likely to succeed. Any other 503 ends within seconds, for example when a
 * replica has restarted. */
static const struct {
    enum err e;
    int seconds;
} retry_table[] = {
    {ERR_CHANNEL_ACCOUNT_UNAVAILABLE, 5},       /* a ledger releases accounts every few seconds */
    {ERR_GRANTS_SUSPENDED, 10},                 /* until all accounts are read again, or for minutes */
    {ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED, 30}, /* until a person has acted and a ledger has closed */
    {ERR_KEYD_CLOCK, 30},                       /* until a person has corrected a clock */
    {ERR_KEYD_BUDGET, 1},                       /* both budgets fill again all the time */
    {ERR_OVERLOADED, 1},
};
#define RETRY_DEFAULT_S 2

static int retry_after_s(enum err e)
{
    for (size_t i = 0; i < ARRAY_LEN(retry_table); i++)
        if (retry_table[i].e == e)
            return retry_table[i].seconds;
    return err_status(e) == 503 ? RETRY_DEFAULT_S : 0;
}

/* Clients cause these lines for as long as the cause lasts. */
static void log_failure(const struct http_request *request, enum err e, const struct detail *detail)
{
    static struct rate_limit limits[ERR_COUNT];
    unsigned not_logged;
    if (rate_limit_line(&limits[e], &not_logged))
        log_line(err_status(e) == 500 ? LOG_ERROR : LOG_WARN, "request failed",
            "request_id=%s error=%s detail=\"%s\" not_logged=%u", request->id, err_code(e), detail->text,
            not_logged);
}

void api_refuse_with(
    struct http_request *request, enum err e, const struct detail *detail, int after_s, char *members)
{
    if (err_status(e) >= 500 && e != ERR_CANCELLED && detail != NULL && detail->text[0] != '\0')
        log_failure(request, e, detail);
    if (e == ERR_GRANTS_SUSPENDED && members == NULL && grants_forgotten_since() > 0)
        members = mem_format("{\"forgottenSince\":%" PRId64 "}", grants_forgotten_since());
    http_reply_problem(request, e, detail, after_s > 0 ? after_s : retry_after_s(e), members);
    free(members);
}

void api_refuse(struct http_request *request, enum err e, const struct detail *detail)
{
    api_refuse_with(request, e, detail, 0, NULL);
}

enum err api_read_limit(const struct http_request *request, size_t max, size_t *limit, struct detail *detail)
{
    const char *text = http_query(request, "limit");
    uint64_t count = LIMIT_DEFAULT;
    if (text != NULL && (text_to_u64(text, max, &count) != ERR_OK || count == 0))
        return detail_set(detail, ERR_INVALID_REQUEST, "limit must be a whole number from 1 to %zu.", max);
    *limit = (size_t)count;
    return ERR_OK;
}

enum err api_read_body(struct http_request *request, json_t **body, struct detail *detail)
{
    enum err e = json_read_object(buf_bytes(&request->body), body, detail);
    buf_free(&request->body);
    return e;
}

enum err api_read_envelope(const json_t *body, struct buf *xdr, struct detail *detail)
{
    const char *text;
    enum err e = json_read_text(body, "transactionXdr", &text, detail);
    if (e != ERR_OK)
        return e;
    if (base64_decode(text, json_string_length(json_object_get(body, "transactionXdr")), xdr) != ERR_OK)
        return detail_set(detail, ERR_INVALID_TRANSACTION_XDR, "transactionXdr is not canonical base64.");
    return ERR_OK;
}

void api_write_hash(struct json_write *out, const char *name, const struct hash *hash)
{
    json_write_hex(out, name, BYTES_OF(hash->bytes));
}

void api_write_address(struct json_write *out, const char *name, const struct public_key *key)
{
    char text[ADDRESS_SIZE];
    address_encode(key, text);
    json_write_text(out, name, text);
}
