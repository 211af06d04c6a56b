/* Logs ended requests and counts them. Never a body, a query or a header. */
#include "request_log.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "http/server.h"

/* Whoever can connect can cause these lines, so they must not fill a disk. */
static struct rate_limit limits[ERR_COUNT];
static atomic_uint_least64_t counts[ERR_COUNT];

/* Our failures are warnings. A refusal is logged at info, so that its request id can be found. */
static enum log_level level_of(const struct http_request *request)
{
    if (request->error == ERR_CANCELLED)
        return LOG_DEBUG;
    return request->status >= 500 ? LOG_WARN : request->status >= 400 ? LOG_INFO : LOG_DEBUG;
}

void request_log(const struct http_request *request, bool sent)
{
    const bool client_left = request->error == ERR_CANCELLED;
    const enum log_level level = level_of(request);
    unsigned not_logged = 0;
    if (request->status != 0)
        atomic_fetch_add(&counts[request->error], 1);
    if (level > LOG_DEBUG && !rate_limit_line(&limits[request->error], &not_logged))
        return;
    /* 499: what other servers log for a client that left before the reply. It is never sent. */
    log_line(level, "request",
        "method=\"%s\" path=\"%.200s\" status=%d code=%s sent=%d client_left=%d ms=%.3f request_id=%s "
        "not_logged=%u",
        request->method, request->target.path, client_left ? 499 : request->status, err_code(request->error),
        sent, client_left, (double)(clock_us() - request->began_us) / 1000, request->id, not_logged);
}

uint64_t http_request_count(enum err e)
{
    return atomic_load(&counts[e]);
}
