/* A fake Stellar RPC on a loopback port, whose responses the test sets. One thread, one request at a time. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/call.h"

enum fake_manner {
    FAKE_PLAIN,
    FAKE_HANGS_UP, /* reads the request and closes */
    FAKE_SILENT,   /* never answers */
    FAKE_TRICKLES, /* one byte every 20 ms */
    FAKE_ENDLESS,  /* a body without declared length that does not end */
    FAKE_BOASTS    /* declares ten gigabytes */
};

struct fake_reply {
    const char *method; /* NULL: any */
    int status;         /* 0: 200 */
    const char *body;   /* "$id" becomes the request's id */
    const char *header; /* "Location: ...\r\n" or NULL */
    enum fake_manner manner;
    unsigned times; /* after this many uses the next matching reply is used; 0: no limit */
    unsigned used;
};

#define FAKE_REPLIES 4
#define FAKE_CONNECTIONS 256
#define FAKE_TIMEOUT_MS 20000 /* of fake_client: a busy machine is not a silent server */
#define FAKE_MAX_BODY 65536   /* of getNetwork */

struct fake_rpc {
    int listener, stop[2];
    pthread_t thread;
    struct rpc *rpc;      /* a client of this server */
    pthread_mutex_t lock; /* of what follows */
    struct fake_reply replies[FAKE_REPLIES];
    char request[65536]; /* the last one, head and body */
    unsigned requests, connections;
};

static inline bool fake_wait(struct fake_rpc *fake, int fd, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = fake->stop[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    return poll(fds, 2, timeout_ms) > 0 && fds[0].revents == 0;
}

/* The lock is held except while waiting, so the test reads and sets consistent values. */
static inline bool fake_wait_unlocked(struct fake_rpc *fake, int fd, int timeout_ms)
{
    pthread_mutex_unlock(&fake->lock);
    bool ready = fake_wait(fake, fd, timeout_ms);
    pthread_mutex_lock(&fake->lock);
    return ready;
}

static inline bool fake_read_request(struct fake_rpc *fake, int fd)
{
    size_t len = 0;
    for (;;) {
        if (!fake_wait_unlocked(fake, fd, -1))
            return false;
        ssize_t got = recv(fd, fake->request + len, sizeof fake->request - 1 - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
        fake->request[len] = '\0';
        const char *head_end = strstr(fake->request, "\r\n\r\n");
        const char *length = strstr(fake->request, "Content-Length: ");
        if (head_end != NULL && length != NULL &&
            strlen(head_end + 4) >= strtoul(length + strlen("Content-Length: "), NULL, 10))
            return true;
    }
}

static inline const struct fake_reply *fake_reply_to(struct fake_rpc *fake)
{
    for (size_t i = 0; i < FAKE_REPLIES; i++) {
        struct fake_reply *reply = &fake->replies[i];
        AUTO_FREE char *quoted = mem_format("\"method\":\"%s\"", reply->method != NULL ? reply->method : "");
        if (reply->times > 0 && reply->used == reply->times)
            continue;
        if (reply->method == NULL || strstr(fake->request, quoted) != NULL) {
            reply->used++;
            return reply;
        }
    }
    return &fake->replies[0];
}

static inline char *fake_body(const struct fake_rpc *fake, const char *template)
{
    const char *id = strstr(fake->request, "\"id\":"), *hole = strstr(template, "$id");
    if (hole == NULL || id == NULL)
        return mem_copy_text(template);
    return mem_format("%.*s%ld%s", (int)(hole - template), template, strtol(id + 5, NULL, 10), hole + 3);
}

static inline bool fake_send(int fd, const char *data, size_t len)
{
    return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* False when the connection is to be closed. */
static inline bool fake_answer(struct fake_rpc *fake, int fd, const struct fake_reply *reply)
{
    static const char filler[4096];
    AUTO_FREE char *body = fake_body(fake, reply->body != NULL ? reply->body : "");
    unsigned long long length = reply->manner == FAKE_BOASTS ? 10000000000 : strlen(body);
    AUTO_FREE char *declared = mem_format("Content-Length: %llu\r\n", length);
    AUTO_FREE char *head =
        mem_format("HTTP/1.1 %d Whatever\r\n%s%s\r\n", reply->status != 0 ? reply->status : 200,
            reply->header != NULL ? reply->header : "", reply->manner == FAKE_ENDLESS ? "" : declared);
    switch (reply->manner) {
    case FAKE_PLAIN:
        return fake_send(fd, head, strlen(head)) && fake_send(fd, body, strlen(body));
    case FAKE_HANGS_UP:
        return false;
    case FAKE_SILENT:
        fake_wait_unlocked(fake, fd, -1);
        return false;
    case FAKE_TRICKLES:
        for (const char *at = head; *at != '\0' && fake_send(fd, at, 1) && !fake_wait_unlocked(fake, fd, 20);
             at++)
            ;
        return false;
    case FAKE_ENDLESS:
    case FAKE_BOASTS:
        for (bool more = fake_send(fd, head, strlen(head)); more;)
            more = fake_send(fd, filler, sizeof filler);
    }
    return false;
}

static inline void *fake_serve(void *context)
{
    struct fake_rpc *fake = context;
    struct pollfd fds[2 + FAKE_CONNECTIONS] = {
        {.fd = fake->stop[0], .events = POLLIN}, {.fd = fake->listener, .events = POLLIN}};
    nfds_t count = 2;
    pthread_mutex_lock(&fake->lock);
    for (;;) {
        pthread_mutex_unlock(&fake->lock);
        const int ready = poll(fds, count, -1);
        pthread_mutex_lock(&fake->lock);
        if (ready <= 0 || fds[0].revents != 0)
            break;
        for (nfds_t i = count; i-- > 2;) {
            if (fds[i].revents == 0)
                continue;
            if (fake_read_request(fake, fds[i].fd)) {
                fake->requests++;
                if (fake_answer(fake, fds[i].fd, fake_reply_to(fake)))
                    continue;
            }
            close(fds[i].fd);
            fds[i] = fds[--count];
        }
        if (fds[1].revents != 0 && count < ARRAY_LEN(fds)) {
            fds[count++] = (struct pollfd){.fd = accept(fake->listener, NULL, NULL), .events = POLLIN};
            fake->connections++;
        }
    }
    while (count > 2)
        close(fds[--count].fd);
    pthread_mutex_unlock(&fake->lock);
    return NULL;
}

static inline char *fake_url(const struct fake_rpc *fake)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(getsockname(fake->listener, (struct sockaddr *)&address, &len), 0);
    return mem_format("http://127.0.0.1:%u/rpc", ntohs(address.sin_port));
}

static inline struct rpc *fake_client(const struct fake_rpc *fake)
{
    AUTO_FREE char *url = fake_url(fake);
    return rpc_new(&(struct rpc_settings){.url = url, .timeout_ms = FAKE_TIMEOUT_MS});
}

/* Set-up and tear-down of each test: *state is a struct fake_rpc. */
static inline int fake_start(void **state)
{
    struct fake_rpc *fake = NEW(struct fake_rpc);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fake->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listener, 256), 0);
    assert_int_equal(pipe(fake->stop), 0);
    pthread_mutex_init(&fake->lock, NULL);
    assert_int_equal(pthread_create(&fake->thread, NULL, fake_serve, fake), 0);
    address_forget(); /* an earlier server may have had this port */
    fake->rpc = fake_client(fake);
    *state = fake;
    return 0;
}

static inline int fake_stop(void **state)
{
    struct fake_rpc *fake = *state;
    rpc_free(fake->rpc);
    /* A byte, and not only the end: a process that the test has started may have inherited the pipe. */
    assert_int_equal(write(fake->stop[1], "", 1), 1);
    close(fake->stop[1]);
    pthread_join(fake->thread, NULL);
    close(fake->stop[0]);
    close(fake->listener);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
    return 0;
}

static inline void rpc_free_at(struct rpc **rpc)
{
    rpc_free(*rpc);
}
#define AUTO_RPC CLEANUP(rpc_free_at) struct rpc *

/* Sets one of the replies. The first one whose method matches a request is sent. */
static inline void fake_set_reply(struct fake_rpc *fake, size_t place, struct fake_reply reply)
{
    pthread_mutex_lock(&fake->lock);
    fake->replies[place] = reply;
    pthread_mutex_unlock(&fake->lock);
}

/* Sets the reply to every request. */
static inline void fake_says(struct fake_rpc *fake, const char *body)
{
    fake_set_reply(fake, 0, (struct fake_reply){.body = body});
}

/* Whether the last request contains the text. */
static inline bool fake_heard(struct fake_rpc *fake, const char *text)
{
    pthread_mutex_lock(&fake->lock);
    bool heard = strstr(fake->request, text) != NULL;
    pthread_mutex_unlock(&fake->lock);
    return heard;
}

static inline unsigned fake_requests(struct fake_rpc *fake)
{
    pthread_mutex_lock(&fake->lock);
    unsigned requests = fake->requests;
    pthread_mutex_unlock(&fake->lock);
    return requests;
}

/* How often calls that do not block have been done. */
static atomic_uint fake_told;

static inline void fake_tell(void *unused)
{
    atomic_fetch_add(&fake_told, 1);
}

static inline void fake_await_told(unsigned count)
{
    for (const int64_t end_ms = clock_ms() + FAKE_TIMEOUT_MS; atomic_load(&fake_told) < count;
         clock_sleep_ms(5))
        assert_true(clock_left_ms(end_ms) > 0);
}

/* Two settings of a network, as the SDK encodes them: 400 million instructions, whose digits are an argument,
 * 200,000 and 132,096 bytes read and written. */
#define FAKE_COST                                                                                            \
    "AAAACAAAAAIAAAABAAAAAgAAAAMAAAAEAAAAZAADDUAAAADIAAIEAAAAAAAAAAAFAAAAAAAAAAYAAAAAAAAABwAAAAAAAAAIAAAAAA" \
    "AA"                                                                                                     \
    "AAkAAAAAAAAACgAAAAs="
#define FAKE_LIMITS(instructions)                                                                            \
    FAKE_RESULT("{\"entries\":[{\"xdr\":\"AAAACAAAAAEAAAAAI8NGAAAAAA" instructions                           \
                "AAAAAAAAABkCgAAA\"},{\"xdr\":\"" FAKE_COST "\"}],\"latestLedger\":1000}")
#define FAKE_400_MILLION "AX14QA"
#define FAKE_500_MILLION "AdzWUA"

#define FAKE_RESULT(json) "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":" json "}"
#define FAKE_ERROR(code, message)                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":" #code ",\"message\":\"" message "\"}}"
#define FAKE_TEST(name) TEST_WITH(name, fake_start, fake_stop)
