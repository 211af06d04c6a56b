/* HTTP by libcurl. No redirect is followed, no proxy of the environment used, and no JSON read. */
#include "transport.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/text.h"

#define RECEIVE_BYTES (256 * 1024L) /* at once */

struct transport {
    CURL *easy;
    CURLM *multi; /* owns the connection between calls */
    struct curl_slist *headers;
    char request_id[sizeof "X-Request-Id: " + 64];
    struct curl_slist with_id; /* the header of the request's id, and after it the others */
    char *url;
    int timeout_ms;
    size_t max_body; /* of all responses; 0: none */
    size_t limit;    /* of the current one */
    int cancel_fd;
    struct buf body;
    char message[CURL_ERROR_SIZE];
};

static void initialize(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        log_fatal(EX_SOFTWARE, "libcurl does not initialize", NULL);
}

/* Returning fewer bytes than were given ends the transfer. */
static size_t receive(char *data, size_t size, size_t count, void *context)
{
    struct transport *transport = context;
    size_t len = size * count;
    if (len > transport->limit - transport->body.len)
        return 0;
    buf_add(&transport->body, data, len);
    return len;
}

/* Ends the process when this libcurl lacks the option, rather than run without its protection. */
#define SET(option, value)                                                                                   \
    do {                                                                                                     \
        if (curl_easy_setopt(transport->easy, option, value) != CURLE_OK)                                    \
            log_fatal(EX_SOFTWARE, "libcurl does not support an option", "option=" #option);                 \
    } while (0)

static void set_options(struct transport *transport)
{
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    /* a transfer that ends does not wait for the thread that resolves its host */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_HTTPHEADER, transport->headers);
    SET(CURLOPT_USERAGENT, "fairway");
    SET(CURLOPT_TIMEOUT_MS, (long)transport->timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS,
        (long)(transport->timeout_ms < RPC_CONNECT_TIMEOUT_MS ? transport->timeout_ms
                                                              : RPC_CONNECT_TIMEOUT_MS));
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    SET(CURLOPT_WRITEFUNCTION, receive);
    SET(CURLOPT_WRITEDATA, transport);
    SET(CURLOPT_ERRORBUFFER, transport->message);
}

struct transport *transport_new(const struct rpc_settings *settings)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize);
    struct transport *transport = NEW(struct transport);
    transport->url = mem_copy_text(settings->url);
    transport->timeout_ms = settings->timeout_ms != 0 ? settings->timeout_ms : RPC_TIMEOUT_MS;
    transport->max_body = settings->max_body;
    transport->cancel_fd = settings->cancel_fd;
    transport->easy = curl_easy_init();
    transport->multi = curl_multi_init();
    transport->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (transport->easy == NULL || transport->multi == NULL || transport->headers == NULL)
        log_fatal(EX_OSERR, "libcurl is out of memory", NULL);
    set_options(transport);
    return transport;
}

void transport_free(struct transport *transport)
{
    if (transport == NULL)
        return;
    curl_easy_cleanup(transport->easy);
    curl_multi_cleanup(transport->multi);
    curl_slist_free_all(transport->headers);
    buf_free(&transport->body);
    free(transport->url);
    free(transport);
}

void transport_set_request_id(struct transport *transport, const char *id)
{
    snprintf(transport->request_id, sizeof transport->request_id, "X-Request-Id: %s", id != NULL ? id : "");
    transport->with_id = (struct curl_slist){transport->request_id, transport->headers};
    SET(CURLOPT_HTTPHEADER, id != NULL ? &transport->with_id : transport->headers);
}

/* Runs the transfer to its end. libcurl has timeouts of its own; this deadline, a little later, is a
 * safeguard. */
static enum err run(struct transport *transport, CURLcode *outcome)
{
    int64_t deadline_ms = clock_ms() + transport->timeout_ms + 1000;
    struct curl_waitfd cancel = {.fd = transport->cancel_fd, .events = CURL_WAIT_POLLIN};
    unsigned watched = transport->cancel_fd >= 0;
    int running = 1, queued;
    for (;;) {
        cancel.revents = 0;
        if (curl_multi_perform(transport->multi, &running) != CURLM_OK)
            return ERR_RPC_UNAVAILABLE;
        int wait_ms = running ? clock_left_ms(deadline_ms) : 0;
        if (curl_multi_poll(transport->multi, &cancel, watched, wait_ms, NULL) != CURLM_OK)
            return ERR_RPC_UNAVAILABLE;
        if (cancel.revents != 0)
            return ERR_CANCELLED;
        if (!running)
            break;
        if (clock_left_ms(deadline_ms) == 0)
            return ERR_RPC_UNAVAILABLE;
    }
    const CURLMsg *done = curl_multi_info_read(transport->multi, &queued);
    if (done == NULL || done->msg != CURLMSG_DONE)
        return ERR_RPC_UNAVAILABLE;
    *outcome = done->data.result;
    return ERR_OK;
}

static bool is_http(const char *url)
{
    return text_starts(url, "http://") || text_starts(url, "https://");
}

static enum err explain(const struct transport *transport, CURLcode outcome, struct detail *detail)
{
    switch (outcome) {
    case CURLE_OK:
        return ERR_OK;
    case CURLE_UNSUPPORTED_PROTOCOL: /* also for an answer without an HTTP status line */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_URL_MALFORMAT:
        if (!is_http(transport->url) || outcome == CURLE_URL_MALFORMAT)
            return detail_set(detail, ERR_CONFIG, "RPC_URL is not an http or https URL");
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "the server of RPC_URL does not answer in HTTP: is its port a Stellar RPC's?");
    case CURLE_GOT_NOTHING:
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "the server of RPC_URL closed the connection without an answer: is its port a Stellar RPC's?");
    case CURLE_WRITE_ERROR:
    case CURLE_FILESIZE_EXCEEDED:
        return detail_set(
            detail, ERR_RPC_UNAVAILABLE, "the response is larger than %zu bytes", transport->limit);
    default:
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s",
            transport->message[0] != '\0' ? transport->message : curl_easy_strerror(outcome));
    }
}

enum err transport_post(struct transport *transport, const char *json, size_t max_body, long *status,
    struct bytes *body, struct detail *detail)
{
    CURLcode outcome = CURLE_OK;
    *status = 0;
    buf_clear(&transport->body);
    transport->limit =
        transport->max_body != 0 && transport->max_body < max_body ? transport->max_body : max_body;
    transport->message[0] = '\0';
    SET(CURLOPT_URL, transport->url);
    SET(CURLOPT_POSTFIELDS, json);
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transport->limit);
    if (curl_multi_add_handle(transport->multi, transport->easy) != CURLM_OK)
        return detail_set(detail, ERR_INTERNAL, "libcurl does not accept the request");
    enum err e = run(transport, &outcome);
    curl_multi_remove_handle(transport->multi, transport->easy);
    if (e != ERR_OK)
        return detail_set(detail, e, e == ERR_CANCELLED ? "cancelled" : "no response before the timeout");
    e = explain(transport, outcome, detail);
    if (e != ERR_OK)
        return e;
    curl_easy_getinfo(transport->easy, CURLINFO_RESPONSE_CODE, status);
    *body = buf_bytes(&transport->body);
    return ERR_OK;
}

struct buf transport_take(struct transport *transport)
{
    const struct buf body = transport->body;
    transport->body = (struct buf){0};
    return body;
}

enum err transport_pause(const struct transport *transport, unsigned ms)
{
    return stop_wait(&(struct stop){transport->cancel_fd}, ms) ? ERR_OK : ERR_CANCELLED;
}
