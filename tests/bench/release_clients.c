/*
 * release_clients URL CLIENTS SECONDS PAUSE_MS: the clients of the bench's part `release`. Each leases by
 * BENCH_BODY, waits for the ledger that ends its lease (?wait=60), pauses for up to PAUSE_MS, and begins
 * again, for SECONDS. Prints for each answer to a wait the ledger and when it arrived (CLOCK_MONOTONIC, us),
 * and last how many answers were none of these.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum stage {
    PAUSES,
    LEASES,
    WAITS
};

struct client {
    int fd; /* -1: closed */
    enum stage stage;
    int64_t due_us; /* the next lease, when it pauses */
    size_t len;
    char answer[16384];
};

struct arrival {
    uint32_t ledger;
    int64_t us;
};

static const int64_t patience_us = 15000000; /* after the last lease */
static struct sockaddr_in server = {.sin_family = AF_INET};
static const char *body;
static int events_fd;
static int64_t pause_us, end_us;
static struct arrival *arrivals;
static size_t arrival_count, arrival_cap, others;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void ask(struct client *client, enum stage stage, const char *text)
{
    if (client->fd < 0) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = client};
        client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(client->fd, (struct sockaddr *)&server, sizeof server) != 0 ||
            epoll_ctl(events_fd, EPOLL_CTL_ADD, client->fd, &wanted) != 0)
            die("release_clients: connect");
    }
    client->stage = stage;
    client->len = 0;
    (void)!send(client->fd, text, strlen(text), MSG_NOSIGNAL); /* if that fails, so does recv() */
}

static void lease(struct client *client)
{
    AUTO_FREE char *text = mem_format("POST /v1/transactions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
    ask(client, LEASES, text);
}

static void pause_client(struct client *client)
{
    client->stage = PAUSES;
    client->due_us = clock_us() + (pause_us > 0 ? random() % pause_us : 0);
}

static void note(uint32_t ledger)
{
    if (arrival_count == arrival_cap) {
        arrival_cap = arrival_cap == 0 ? 65536 : 2 * arrival_cap;
        arrivals = mem_grow(arrivals, arrival_cap, sizeof *arrivals);
    }
    arrivals[arrival_count++] = (struct arrival){ledger, clock_us()};
}

/* The answer is complete. */
static void go_on(struct client *client)
{
    const char *hash = strstr(client->answer, "\"hash\":\""), *ledger = strstr(client->answer, "\"ledger\":");
    if (client->stage == LEASES && strncmp(client->answer, "HTTP/1.1 201", 12) == 0 && hash != NULL) {
        AUTO_FREE char *text =
            mem_format("GET /v1/transactions/%.64s?wait=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", hash + 8);
        ask(client, WAITS, text);
        return;
    }
    if (client->stage == WAITS && ledger != NULL && strstr(client->answer, "\"confirmed\"") != NULL)
        note((uint32_t)strtoul(ledger + 9, NULL, 10));
    else
        others++;
    pause_client(client);
}

static void receive(struct client *client)
{
    const ssize_t len =
        recv(client->fd, client->answer + client->len, sizeof client->answer - 1 - client->len, 0);
    if (len <= 0) { /* closed, or the answer is too long */
        close(client->fd);
        client->fd = -1;
        others += client->stage != PAUSES;
        pause_client(client);
        return;
    }
    client->len += (size_t)len;
    client->answer[client->len] = 0;
    const char *blank = strstr(client->answer, "\r\n\r\n"),
               *length = strcasestr(client->answer, "\r\nContent-Length:");
    if (client->stage != PAUSES && blank && length && strlen(blank + 4) >= strtoul(length + 17, NULL, 10))
        go_on(client);
}

/* Begins what is due. Returns how many clients are not pausing. */
static size_t begin(struct client clients[], size_t count)
{
    const int64_t now_us = clock_us();
    size_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        if (clients[i].stage == PAUSES && clients[i].due_us <= now_us && now_us < end_us)
            lease(&clients[i]);
        busy += clients[i].stage != PAUSES;
    }
    return busy;
}

int main(int argc, char **argv)
{
    body = getenv("BENCH_BODY");
    if (argc != 5 || !body || sscanf(argv[1], "http://127.0.0.1:%hu", &server.sin_port) != 1) {
        fprintf(stderr,
            "usage: release_clients http://127.0.0.1:PORT CLIENTS SECONDS PAUSE_MS; see its source\n");
        return 64;
    }
    server.sin_port = htons(server.sin_port);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const size_t count = (size_t)atoi(argv[2]);
    pause_us = atoll(argv[4]) * 1000;
    end_us = clock_us() + atoll(argv[3]) * 1000000;
    events_fd = epoll_create1(EPOLL_CLOEXEC);
    struct client *clients = NEW_ARRAY(count, struct client);
    for (size_t i = 0; i < count; i++) {
        clients[i].fd = -1;
        pause_client(&clients[i]);
    }
    struct epoll_event events[256];
    while (begin(clients, count) > 0 || clock_us() < end_us) {
        const int ready = epoll_wait(events_fd, events, 256, 2);
        for (int i = 0; i < ready; i++)
            receive(events[i].data.ptr);
        if (clock_us() > end_us + patience_us)
            break;
    }
    for (size_t i = 0; i < arrival_count; i++)
        printf("%" PRIu32 " %" PRId64 "\n", arrivals[i].ledger, arrivals[i].us);
    printf("others %zu\n", others);
    return 0;
}
