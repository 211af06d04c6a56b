/*
 * Authentication, before an endpoint sees the request. All refusals are the same 401, so that an attacker
 * who tries tokens learns nothing. The reason is logged, at most LOGGED_EACH_SECOND times a second.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "context.h"
#include "reply.h"

enum {
    LOGGED_EACH_SECOND = 5
};

_Static_assert(AUTH_NAME_SIZE == CLIENT_SIZE, "a lease has the name of its client");

/* How many refusals may still be logged in this second, and how many were not. */
static struct {
    pthread_mutex_t mutex;
    int64_t second;
    unsigned logged, suppressed;
} refusals = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Returns whether to log one more; *suppressed: those since the last line. */
static bool may_log(unsigned *suppressed)
{
    const int64_t second = clock_ms() / 1000;
    pthread_mutex_lock(&refusals.mutex);
    if (second != refusals.second) {
        refusals.second = second;
        refusals.logged = 0;
    }
    const bool may = refusals.logged < LOGGED_EACH_SECOND;
    *suppressed = refusals.suppressed;
    refusals.suppressed = may ? 0 : refusals.suppressed + 1;
    refusals.logged += may;
    pthread_mutex_unlock(&refusals.mutex);
    return may;
}

static void refuse(
    struct http_request *request, enum err e, const struct auth_client *client, const struct detail *why)
{
    unsigned suppressed;
    if (may_log(&suppressed))
        log_warn(e == ERR_FORBIDDEN ? "request not allowed" : "request not authenticated",
            "request_id=%s client=%s reason=\"%s\" suppressed=%u", http_request_id(request), client->name,
            why->text, suppressed);
    api_refuse(request, e, e == ERR_FORBIDDEN ? why : NULL);
}

void api_guard(struct http_request *request, void *api_guarded)
{
    const struct api_guarded *route = api_guarded;
    struct auth *auth = route->api->settings.auth;
    if (auth == NULL) {
        route->handler(request, route->api);
        return;
    }
    const struct auth_request asked = {.method = http_method(request),
        .target = http_target(request),
        .authorization = http_header(request, "Authorization"),
        .idempotency_key = http_header(request, "Idempotency-Key"),
        .body = http_body(request),
        .audience = route->api->settings.passphrase,
        .scope = route->scope,
        .now_s = time(NULL)};
    struct auth_client *client = NEW(struct auth_client);
    struct detail why = {0};
    enum err e = auth_check(auth, &asked, client, &why);
    http_keep(request, client);
    if (e == ERR_OK)
        route->handler(request, route->api);
    else
        refuse(request, e, client, &why);
}
