/*
 * Authentication, before an endpoint sees the request. The head is judged before the body is read, so only
 * clients make us hold bodies. A 401 says what follows from the request and the clock; what depends on the
 * clients or the signature is one text, so that an attacker who tries tokens learns nothing. Every reason is
 * logged, as often as rate_limit_line allows.
 *
 * Then the limits of the client on requests, which keep one client from occupying the connections and threads
 * of this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rate_limit.h"
#include "context.h"
#include "reply.h"

_Static_assert(AUTH_NAME_SIZE == CLIENT_SIZE, "a lease has the name of its client");

static void log_refusal(const struct http_request *request, enum err e, const struct auth_client *client,
    const struct detail *why)
{
    static struct rate_limit limit;
    static const struct public_key none = {0};
    char sub[ADDRESS_SIZE] = ""; /* whoever has written the token names it */
    unsigned not_logged;
    if (!public_key_equal(&client->key, &none))
        address_encode(&client->key, sub);
    if (rate_limit_line(&limit, &not_logged))
        log_warn(e == ERR_FORBIDDEN ? "request not allowed" : "request not authenticated",
            "request_id=%s client=%s sub=%s reason=\"%s\" not_logged=%u", request->id, client->name, sub,
            why->text, not_logged);
}

const char *api_sharer(const struct http_request *request)
{
    const struct auth_client *client = request->kept;
    return client != NULL && client->others ? client->name : NULL;
}

static void sender_free(void *memory)
{
    struct api_sender *sender = memory;
    client_loads_end(&sender->api->loads, sender->load);
    free(sender);
}

/* Counts the request until it ends, unless its client is above a limit. */
static enum err let_in(struct http_request *request, struct api *api, const struct auth_client *client,
    struct http_refusal *refusal)
{
    struct limits limits = client->limits;
    struct client_load *load;
    if (client->others) /* it may have half of the connections */
        limits.most[LIMIT_REQUESTS_IN_FLIGHT] = api->shares.connections < 2 ? 1 : api->shares.connections / 2;
    const enum limit limit = client_loads_begin(&api->loads, client->name, &limits, request->content_length,
        clock_us(), &load, &refusal->retry_after_s);
    if (limit == LIMIT_NONE) {
        const struct api_sender sender = {*client, api, load};
        request->kept = mem_copy(&sender, sizeof sender);
        request->release = sender_free;
        return ERR_OK;
    }
    snprintf(refusal->extra, sizeof refusal->extra, "{\"limit\":\"%s\"}", limit_name(limit));
    return limit_refuse(limit, &limits, &refusal->detail);
}

enum err api_admit(struct http_request *request, void *api_guarded, struct http_refusal *refusal)
{
    const struct api_guarded *route = api_guarded;
    struct auth *auth = route->api->settings.auth;
    if (auth == NULL)
        return ERR_OK;
    const struct auth_request asked = {.method = request->method,
        .target = request->target,
        .authorization = http_header(request, "Authorization"),
        .idempotency_key = http_header(request, "Idempotency-Key"),
        .audience = route->api->settings.passphrase,
        .scope = route->scope,
        .now_s = time(NULL)};
    struct auth_client client;
    struct detail why = {0};
    enum err e = auth_check(auth, &asked, &client, &why);
    if (e == ERR_OK || e == ERR_FORBIDDEN)
        http_set_client(request, client.name);
    if (e == ERR_OK)
        return let_in(request, route->api, &client, refusal);
    log_refusal(request, e, &client, &why);
    if (!client.reason_hidden)
        refusal->detail = why;
    return e;
}

void api_guard(struct http_request *request, void *api_guarded)
{
    const struct api_guarded *route = api_guarded;
    struct auth_client *client = request->kept;
    struct detail why = {0};
    enum err e = ERR_OK;
    if (route->api->settings.auth != NULL)
        e = auth_check_body(route->api->settings.auth, client, buf_bytes(&request->body), &why);
    if (e == ERR_OK) {
        route->handler(request, route->api);
        return;
    }
    log_refusal(request, e, client, &why);
    api_refuse(request, e, client->reason_hidden ? NULL : &why);
}
