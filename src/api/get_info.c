/* GET /v1/info: what a client has to know of this service before its first request. Nothing secret is here.
 */
#include "base/version.h"
#include "db_endpoint.h"
#include "pool/network.h"
#include "stellar/protocol.h"

/* Limits that are not set are left out. */
static void write_client(struct json_write *out, const struct http_request *http)
{
    const struct limits *limits = api_limits(http);
    json_write_open(out, "client", '{');
    json_write_text(out, "name", api_client(http));
    json_write_open(out, "limits", '{');
    for (enum limit i = LIMIT_NONE + 1; i < LIMIT_COUNT; i++)
        if (limits->most[i] > 0)
            (i == LIMIT_STROOPS_PER_DAY ? json_write_decimal : json_write_number)(
                out, limit_name(i), limits->most[i]);
    json_write_close(out, '}');
    json_write_close(out, '}');
}

static char *info_text(const struct db_query *query, int32_t protocol)
{
    const struct api_settings *settings = query->settings;
    struct json_write out = {0};
    json_write_begin(&out, 512);
    json_write_text(&out, "networkPassphrase", settings->passphrase);
    api_write_address(&out, "distributionAccount", &settings->limits.distribution);
    if (protocol > 0)
        json_write_number(&out, "protocol", protocol);
    json_write_number(&out, "newestProtocol", PROTOCOL_KNOWN);
    json_write_text(&out, "version", FAIRWAY_VERSION);
    json_write_decimal(&out, "baseFee", settings->limits.bump_base_fee_stroops);
    json_write_decimal(&out, "maxFee", settings->limits.max_bump_fee_stroops);
    write_client(&out, query->http);
    return json_write_end(&out);
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    int32_t protocol;
    enum err e = network_read_protocol(db, &protocol, detail);
    if (e == ERR_OK)
        reply->text = info_text(query, protocol);
    return e;
}

void api_get_info(struct http_request *request, void *api)
{
    db_endpoint_begin(request, api, run);
}
