/*
 * open_load URL RATE SECONDS CONNECTIONS: an open arrival process. Posts BENCH_BODY, or the lines of
 * BENCH_FILE one after the other, RATE times a second on average, at random times that do not depend on
 * answers: when the service stalls, requests go on to arrive. Latency counts from the time at which a request
 * was due. While all of the kept-alive CONNECTIONS are busy, requests wait here. Each has another value of
 * BENCH_HEADER, after BENCH_RUN, and its number instead of @@@@@@ in the body. Prints the line of common.lua.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

struct connection {
    int fd; /* -1: closed */
    bool busy;
    size_t request; /* its number, when busy */
    size_t len;
    char answer[16384];
};

static const int64_t patience_us = 10000000; /* after the last arrival */
static struct sockaddr_in server = {.sin_family = AF_INET};
static const char *header, *run;
static char *body, *number; /* number: in the body */
static FILE *bodies;
static char path[256];
static int events_fd;
static int64_t *times_us; /* when a request is due; after its end, its latency */
static size_t ended, good, refused, errors;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void next_body(size_t request)
{
    static size_t size;
    char digits[7];
    if (bodies && getline(&body, &size, bodies) < 0)
        die("open_load: BENCH_FILE is too short");
    if (bodies)
        body[strcspn(body, "\n")] = 0;
    snprintf(digits, sizeof digits, "%06x", (unsigned)request & 0xffffff);
    if (number)
        memcpy(number, digits, 6);
}

static void post(struct connection *c, size_t request)
{
    if (c->fd < 0) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = c};
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(c->fd, (struct sockaddr *)&server, sizeof server) != 0 ||
            epoll_ctl(events_fd, EPOLL_CTL_ADD, c->fd, &wanted) != 0)
            die("open_load: connect");
    }
    next_body(request);
    AUTO_FREE char *text = mem_format("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s: %s-%zu\r\n"
                                      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        path, header, run, request, strlen(body), body);
    c->busy = true;
    c->request = request;
    c->len = 0;
    (void)!send(c->fd, text, strlen(text), MSG_NOSIGNAL); /* if that fails, so does recv() */
}

static bool end(struct connection *c, size_t *how)
{
    times_us[c->request] = clock_us() - times_us[c->request];
    c->busy = false;
    ended++;
    (*how)++;
    return true;
}

/* Reads what has arrived. Returns whether this ends a request. */
static bool receive(struct connection *c)
{
    const ssize_t len = recv(c->fd, c->answer + c->len, sizeof c->answer - 1 - c->len, 0);
    if (len <= 0) { /* closed, or the answer is too long */
        close(c->fd);
        c->fd = -1;
        return c->busy && end(c, &errors);
    }
    c->len += (size_t)len;
    c->answer[c->len] = 0;
    const char *blank = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "\r\nContent-Length:");
    if (!c->busy || !blank || !length || strlen(blank + 4) < strtoul(length + 17, NULL, 10))
        return false;
    return end(c, strncmp(c->answer, "HTTP/1.1 2", 10) == 0 ? &good : &refused);
}

/* Returns how many arrive within the duration. In each microsecond one does or none: the gaps are
 * exponential. */
static size_t make_arrivals(double rate, int64_t duration_us)
{
    size_t count = 0;
    times_us = NEW_ARRAY((size_t)(2 * rate * (double)duration_us / 1e6) + 1000, int64_t);
    srand48(clock_us());
    for (int64_t us = 0; us < duration_us; us++)
        if (drand48() < rate / 1e6)
            times_us[count++] = us;
    return count;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const char *given = getenv("BENCH_BODY"), *file = getenv("BENCH_FILE");
    bodies = file ? fopen(file, "re") : NULL;
    body = given ? mem_copy_text(given) : NULL;
    number = body ? strstr(body, "@@@@@@") : NULL;
    run = getenv("BENCH_RUN");
    header = getenv("BENCH_HEADER") ? getenv("BENCH_HEADER") : "X-Other-Header";
    if (argc != 5 || (!body && !bodies) || !run ||
        sscanf(argv[1], "http://127.0.0.1:%hu%255s", &server.sin_port, path) != 2) {
        fprintf(
            stderr, "usage: open_load http://127.0.0.1:PORT/PATH RATE SECONDS CONNECTIONS; see its source\n");
        return 64;
    }
    server.sin_port = htons(server.sin_port);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int64_t duration_us = atoll(argv[3]) * 1000000;
    const size_t count = make_arrivals(atof(argv[2]), duration_us), connection_count = (size_t)atoi(argv[4]);
    struct connection *connections = NEW_ARRAY(connection_count, struct connection);
    struct connection **idle = NEW_ARRAY(connection_count, struct connection *);
    size_t next = 0, idle_count = 0;
    for (; idle_count < connection_count; idle_count++) {
        idle[idle_count] = &connections[idle_count];
        idle[idle_count]->fd = -1;
    }
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* epoll_wait() counts milliseconds */
    struct epoll_event events[64], wanted = {.events = EPOLLIN};
    events_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ctl(events_fd, EPOLL_CTL_ADD, timer, &wanted) != 0)
        die("open_load: epoll");

    const int64_t start_us = clock_us();
    for (size_t i = 0; i < count; i++)
        times_us[i] += start_us;
    while (ended < count && clock_us() < start_us + duration_us + patience_us) {
        while (next < count && idle_count > 0 && times_us[next] <= clock_us())
            post(idle[--idle_count], next++);
        if (next < count && idle_count > 0) {
            struct itimerspec at = {.it_value = {times_us[next] / 1000000, times_us[next] % 1000000 * 1000}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
        }
        const int ready = epoll_wait(events_fd, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            uint64_t expirations;
            if (!c)
                (void)!read(timer, &expirations, sizeof expirations);
            else if (receive(c))
                idle[idle_count++] = c;
        }
    }
    const int64_t now_us = clock_us();
    for (size_t i = 0; i < connection_count; i++)
        if (connections[i].busy)
            end(&connections[i], &errors);
    for (; next < count; next++, errors++)
        times_us[next] = now_us - times_us[next];
    qsort(times_us, count, sizeof *times_us, by_time);
    printf("BENCH {\"good\":%zu,\"refused\":%zu,\"errors\":%zu,\"us\":%" PRId64 ",\"p50us\":%" PRId64
           ",\"p99us\":%" PRId64 "}\n",
        good, refused, errors, now_us - start_us, times_us[count / 2], times_us[count * 99 / 100]);
    return 0;
}
