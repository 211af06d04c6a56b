/*
 * The loop. Its thread owns the transfers from loop_run to done, their handles and connections, and the
 * queues of the addresses. The mutex guards only what other threads hand over. No JSON is read here.
 */
#include "loop.h"

#include <pthread.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "files.h"

/* Of an address. Half of them, at an RPC that takes 50 ms, are 1,280 simulations a second. */
#define OPEN_MAX 128
#define RECEIVE_BYTES (256 * 1024L) /* at once */
/* While transfers wait for their time, or for others to end. */
#define LOOK_MS 10
#define IDLE_MS 60000
#define AUTHORITIES_S 60L /* then RPC_CA_FILE is read again by the next connection */
/* A connection that was idle for longer is closed: a call on one that has died waits for its whole time. */
#define IDLE_S 10L
/* So is an older one: a new connection through a load balancer leaves a node that is stuck. */
#define LIFETIME_S 60L

/* What a class has at most, with those after it: those before it find room. */
static const unsigned open_max[RPC_CLASSES] = {[RPC_LEDGERS] = OPEN_MAX,
    [RPC_SENDS] = OPEN_MAX * 7 / 8,
    [RPC_READS] = OPEN_MAX * 5 / 8,
    [RPC_SIMULATIONS] = OPEN_MAX / 2};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct loop_transfer *handed, **handed_end = &handed; /* with the mutex */
static CURLM *multi;                 /* made before the thread is, which alone uses it, but for wake-ups */
static struct loop_transfer *opened; /* the thread's: those that have begun */

/* ---- one transfer */

/* Returning fewer bytes than were given ends the transfer. */
static size_t receive(char *data, size_t size, size_t count, void *context)
{
    struct loop_transfer *transfer = context;
    size_t len = size * count;
    if (len > transfer->max_body - transfer->body.len)
        return 0;
    buf_add(&transfer->body, data, len);
    return len;
}

/* Called when the name of the host is resolved, before a connection is made. */
static int note_resolved(void *context, curl_socket_t fd, curlsocktype purpose)
{
    struct loop_transfer *transfer = context;
    (void)fd;
    (void)purpose;
    transfer->address->resolved = true;
    return CURL_SOCKOPT_OK;
}

/* Ends the process when this libcurl lacks the option, rather than run without its protection. */
#define SET(option, value)                                                                                   \
    do {                                                                                                     \
        if (curl_easy_setopt(transfer->easy, option, value) != CURLE_OK)                                     \
            log_fatal(EX_SOFTWARE, "libcurl does not support an option", "option=" #option);                 \
    } while (0)

static void set_options(struct loop_transfer *transfer)
{
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    /* a transfer that ends does not wait for the thread that resolves its host */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_URL, transfer->address->url);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, transfer->json);
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    if (files_authorities() != NULL) {
        SET(CURLOPT_CAINFO, files_authorities());
        SET(CURLOPT_CAPATH, NULL);
        SET(CURLOPT_CA_CACHE_TIMEOUT, AUTHORITIES_S);
    }
    SET(CURLOPT_USERAGENT, "fairway");
    /* libcurl goes on with a connection of HTTP/2 after a call on it timed out, also when it is dead */
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_MAXAGE_CONN, IDLE_S);
    SET(CURLOPT_MAXLIFETIME_CONN, LIFETIME_S);
    SET(CURLOPT_TIMEOUT_MS, (long)transfer->timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS,
        (long)(transfer->timeout_ms < RPC_CONNECT_TIMEOUT_MS ? transfer->timeout_ms
                                                             : RPC_CONNECT_TIMEOUT_MS));
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    if (transfer->class == RPC_LEDGERS)
        SET(CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->max_body);
    SET(CURLOPT_WRITEFUNCTION, receive);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_SOCKOPTFUNCTION, note_resolved);
    SET(CURLOPT_SOCKOPTDATA, transfer);
    SET(CURLOPT_ERRORBUFFER, transfer->message);
    SET(CURLOPT_PRIVATE, transfer);
}

static bool is_http(const char *url)
{
    return text_starts(url, "http://") || text_starts(url, "https://");
}

static enum err explain(struct loop_transfer *transfer, CURLcode outcome)
{
    struct detail *detail = &transfer->detail;
    switch (outcome) {
    case CURLE_OK:
        return ERR_OK;
    case CURLE_UNSUPPORTED_PROTOCOL: /* also for an answer without an HTTP status line */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_URL_MALFORMAT:
        if (!is_http(transfer->address->url) || outcome == CURLE_URL_MALFORMAT)
            return detail_set(detail, ERR_CONFIG, "RPC_URL is not an http or https URL");
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "the server of RPC_URL does not answer in HTTP: is its port a Stellar RPC's?");
    case CURLE_GOT_NOTHING:
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "the server of RPC_URL closed the connection without an answer: is its port a Stellar RPC's?");
    case CURLE_WRITE_ERROR:
    case CURLE_FILESIZE_EXCEEDED:
        return detail_set(
            detail, ERR_RPC_UNAVAILABLE, "the response is larger than %zu bytes", transfer->max_body);
    default:
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s",
            transfer->message[0] != '\0' ? transfer->message : curl_easy_strerror(outcome));
    }
}

static struct curl_slist *headers_of(const struct loop_transfer *transfer)
{
    char id[sizeof "X-Request-Id: " + 64];
    struct curl_slist *list = files_append(NULL, "Content-Type: application/json");
    snprintf(id, sizeof id, "X-Request-Id: %s", transfer->request_id != NULL ? transfer->request_id : "");
    if (transfer->request_id != NULL)
        list = files_append(list, id);
    return files_add_headers(list, transfer->number);
}

static void begin(struct loop_transfer *transfer)
{
    transfer->begun_ms = clock_ms();
    transfer->begun_us = clock_us();
    transfer->message[0] = '\0';
    transfer->easy = curl_easy_init();
    if (transfer->easy == NULL)
        log_fatal(EX_OSERR, "libcurl is out of memory", NULL);
    transfer->headers = headers_of(transfer);
    set_options(transfer);
    if (curl_multi_add_handle(multi, transfer->easy) != CURLM_OK)
        log_fatal(EX_SOFTWARE, "libcurl does not accept the request", NULL);
    transfer->next = opened;
    opened = transfer;
    transfer->address->open[transfer->class]++;
}

/* Gives one that has not begun back. */
static void drop(struct loop_transfer *transfer, enum err e)
{
    transfer->e = detail_set(
        &transfer->detail, e, e == ERR_CANCELLED ? "cancelled" : "too many requests wait for this RPC");
    transfer->done(transfer);
}

static void end(struct loop_transfer *transfer, enum err e)
{
    struct loop_transfer **at = &opened;
    while (*at != transfer)
        at = &(*at)->next;
    *at = transfer->next;
    transfer->address->open[transfer->class]--;
    curl_multi_remove_handle(multi, transfer->easy);
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    transfer->took_us = clock_us() - transfer->begun_us;
    transfer->e = e;
    transfer->done(transfer);
}

/* ---- all of them */

static bool is_cancelled(const struct loop_transfer *transfer)
{
    return atomic_load(transfer->cancelled);
}

static bool is_unwanted(const struct loop_transfer *transfer)
{
    return is_cancelled(transfer) || (transfer->gone != NULL && atomic_load(transfer->gone));
}

/* Puts what was handed over, and may begin, into the queues. Returns whether more waits for its time. */
static bool take_handed(void)
{
    struct loop_transfer *taken = NULL, **end = &taken, **at = &handed;
    pthread_mutex_lock(&mutex);
    while (*at != NULL) {
        struct loop_transfer *transfer = *at;
        if (clock_left_ms(transfer->not_before_ms) > 0 && !is_cancelled(transfer)) {
            at = &transfer->next;
            continue;
        }
        *at = transfer->next;
        transfer->next = NULL;
        *end = transfer;
        end = &transfer->next;
    }
    handed_end = at;
    const bool waits = handed != NULL;
    pthread_mutex_unlock(&mutex);
    for (struct loop_transfer *transfer = taken, *next; transfer != NULL; transfer = next) {
        next = transfer->next;
        if (fair_queue_add(&transfer->address->waiting[transfer->class], &transfer->item) != ERR_OK)
            drop(transfer, ERR_OVERLOADED);
    }
    return waits;
}

/* Also those that nobody waits for any more. One that has begun is not ended for that: it may cost the RPC as
 * much. */
static void drop_late(struct fair_queue *queue, int64_t now_ms)
{
    for (struct fair_item *item = queue->first; item != NULL; item = item->next)
        if (is_unwanted((const struct loop_transfer *)item))
            item->deadline_ms = now_ms;
    for (struct fair_item *item = fair_queue_take_late(queue, now_ms), *next; item != NULL; item = next) {
        next = item->next;
        struct loop_transfer *transfer = (struct loop_transfer *)item;
        drop(transfer, is_unwanted(transfer) ? ERR_CANCELLED : ERR_OVERLOADED);
    }
}

/* Each transfer whose name server does not answer leaves a thread of libcurl's for half a minute. So one at a
 * time begins until the name is resolved. */
static bool has_room(const struct address *address, enum rpc_class class)
{
    unsigned open = 0;
    bool has = true;
    for (size_t i = RPC_CLASSES; i-- > 0;) {
        open += address->open[i];
        has &= i > class || open < open_max[i];
    }
    return has && (address->resolved || open == 0);
}

/* Begins what has room. Returns whether more waits. */
static bool begin_waiting(struct address *address, bool looks)
{
    bool waits = false;
    for (size_t i = 0; i < RPC_CLASSES; i++) {
        struct fair_queue *queue = &address->waiting[i];
        if (looks)
            drop_late(queue, clock_ms());
        while (queue->count > 0 && has_room(address, (enum rpc_class)i) &&
               (i != RPC_SIMULATIONS || address_take_turn(address))) {
            struct loop_transfer *transfer = (struct loop_transfer *)fair_queue_take(queue);
            if (is_unwanted(transfer))
                drop(transfer, ERR_CANCELLED);
            else
                begin(transfer);
        }
        waits |= queue->count > 0;
    }
    return waits;
}

/* Returns whether any has ended: then others may begin. */
static bool end_done(void)
{
    int queued;
    bool any = false;
    for (const CURLMsg *message; (message = curl_multi_info_read(multi, &queued)) != NULL; any = true) {
        struct loop_transfer *transfer;
        curl_off_t retry_after_s = 0, resolved_us = 0;
        const CURLcode outcome = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->status);
        curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
        curl_easy_getinfo(transfer->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved_us);
        transfer->address->resolved = outcome == CURLE_OK || resolved_us > 0;
        transfer->retry_after_s = retry_after_s;
        transfer->timed_out = outcome == CURLE_OPERATION_TIMEDOUT;
        end(transfer, explain(transfer, outcome));
    }
    return any;
}

static void end_cancelled(void)
{
    for (struct loop_transfer *transfer = opened, *next; transfer != NULL; transfer = next) {
        next = transfer->next;
        if (is_cancelled(transfer)) {
            detail_set(&transfer->detail, ERR_CANCELLED, "cancelled");
            end(transfer, ERR_CANCELLED);
        }
    }
}

static void *run(void *unused)
{
    int64_t look_ms = 0;
    (void)unused;
    for (;;) {
        int running;
        const bool looks = clock_left_ms(look_ms) == 0;
        bool waits = take_handed();
        look_ms = looks ? clock_ms() + LOOK_MS : look_ms;
        end_cancelled();
        for (struct address *address = address_first(); address != NULL; address = address->next)
            waits |= begin_waiting(address, looks);
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            log_fatal(EX_SOFTWARE, "libcurl does not run transfers", NULL);
        if (!end_done() && curl_multi_poll(multi, NULL, 0, waits ? LOOK_MS : IDLE_MS, NULL) != CURLM_OK)
            log_fatal(EX_SOFTWARE, "libcurl does not wait for transfers", NULL);
    }
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        log_fatal(EX_SOFTWARE, "libcurl does not initialize", NULL);
    multi = curl_multi_init();
    if (multi == NULL)
        log_fatal(EX_OSERR, "libcurl is out of memory", NULL);
    /* each transfer has a connection of its own: a large ledger does not delay what else is asked */
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)OPEN_MAX);
    thread_start(&thread, "rpc", run, NULL);
}

void loop_look(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    curl_multi_wakeup(multi);
}

void loop_run(struct loop_transfer *transfer)
{
    pthread_mutex_lock(&mutex);
    transfer->next = NULL;
    *handed_end = transfer;
    handed_end = &transfer->next;
    pthread_mutex_unlock(&mutex);
    loop_look();
}
