#include "proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    CONNECTIONS = 4,
    STATEMENTS = 64
};

struct proxy {
    int listener, stop[2];
    unsigned port, target_port;
    pthread_t threads[CONNECTIONS]; /* each forwards one connection at a time */
    pthread_mutex_t lock;           /* guards what follows */
    enum proxy_fault fault;
    const char *text;
};

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* The texts of a connection's prepared statements; fairway names them by number. */
struct prepared_texts {
    char *texts[STATEMENTS];
};

static const char statement_name[] = "fairway";

/* Whether the data prepares or executes a statement whose text contains wanted (NULL: none). Notes the texts
 * of those that it prepares: in a Parse message, the text follows the name. */
static bool any_statement(struct prepared_texts *prepared, const char *data, size_t len, const char *wanted)
{
    const char *end = data + len, *at = data;
    bool found = false;
    while ((at = memmem(at, (size_t)(end - at), statement_name, sizeof statement_name - 1)) != NULL) {
        char *after;
        const size_t number = strtoul(at + sizeof statement_name - 1, &after, 10);
        const bool is_name = after > at + sizeof statement_name - 1 && *after == '\0' && number < STATEMENTS;
        if (is_name && at - data >= 5 && at[-5] == 'P') {
            free(prepared->texts[number]);
            prepared->texts[number] = mem_format("%.*s", (int)(end - after - 1), after + 1);
        }
        found |= is_name && wanted != NULL && prepared->texts[number] != NULL &&
                 strstr(prepared->texts[number], wanted) != NULL;
        at = after;
    }
    return found;
}

static enum proxy_fault fault_of(
    struct proxy *proxy, struct prepared_texts *prepared, const char *data, size_t len)
{
    enum proxy_fault fault = PROXY_NONE;
    pthread_mutex_lock(&proxy->lock);
    const char *wanted = proxy->fault != PROXY_NONE ? proxy->text : NULL;
    const bool executed = any_statement(prepared, data, len, wanted);
    if (wanted != NULL && (executed || memmem(data, len, wanted, strlen(wanted)) != NULL)) {
        fault = proxy->fault;
        proxy->fault = PROXY_NONE;
    }
    pthread_mutex_unlock(&proxy->lock);
    return fault;
}

/* prepared NULL: from the server. Returns false when the connection is over. */
static bool forward(struct proxy *proxy, int from, int to, struct prepared_texts *prepared)
{
    char data[65536 + 1];
    ssize_t len = recv(from, data, sizeof data - 1, 0);
    if (len <= 0)
        return false;
    data[len] = '\0';
    enum proxy_fault fault = prepared != NULL ? fault_of(proxy, prepared, data, (size_t)len) : PROXY_NONE;
    struct pollfd silence[] = {{.fd = proxy->stop[0], .events = POLLIN}, {.fd = to, .events = POLLIN}};
    switch (fault) {
    case PROXY_NONE:
        return send(to, data, (size_t)len, MSG_NOSIGNAL) == len;
    case PROXY_CUT_BEFORE:
        return false;
    case PROXY_CUT_AFTER:
        if (send(to, data, (size_t)len, MSG_NOSIGNAL) == len)
            poll(silence, 2, 5000);
        return false;
    case PROXY_SILENT_AFTER:
        if (send(to, data, (size_t)len, MSG_NOSIGNAL) != len)
            return false;
        /* fall through */
    case PROXY_SILENT:
        while (
            poll(&(struct pollfd){.fd = from, .events = POLLRDHUP}, 1, 20) == 0 && poll(silence, 1, 0) == 0)
            ;
    }
    return false;
}

static void serve(struct proxy *proxy, int client)
{
    struct sockaddr_in address = loopback(proxy->target_port);
    struct prepared_texts prepared = {0};
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    bool open = connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    while (open) {
        struct pollfd fds[] = {{.fd = proxy->stop[0], .events = POLLIN}, {.fd = client, .events = POLLIN},
            {.fd = server, .events = POLLIN}};
        open = poll(fds, ARRAY_LEN(fds), -1) > 0 && fds[0].revents == 0;
        if (open && fds[1].revents != 0)
            open = forward(proxy, client, server, &prepared);
        else if (open && fds[2].revents != 0)
            open = forward(proxy, server, client, NULL);
    }
    close(server);
    for (size_t i = 0; i < STATEMENTS; i++)
        free(prepared.texts[i]);
}

static void *run(void *context)
{
    struct proxy *proxy = context;
    for (;;) {
        struct pollfd fds[] = {
            {.fd = proxy->stop[0], .events = POLLIN}, {.fd = proxy->listener, .events = POLLIN}};
        if (poll(fds, ARRAY_LEN(fds), -1) <= 0 || fds[0].revents != 0)
            return NULL;
        int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0) /* another thread was faster */
            continue;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        serve(proxy, client);
        close(client);
    }
}

struct proxy *proxy_new(unsigned target_port)
{
    struct proxy *proxy = NEW(struct proxy);
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof address;
    proxy->target_port = target_port;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    pthread_mutex_init(&proxy->lock, NULL);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 8) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &len) != 0 ||
        pipe2(proxy->stop, O_CLOEXEC) != 0) {
        perror("test proxy");
        exit(1);
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (pthread_create(&proxy->threads[i], NULL, run, proxy) != 0)
            exit(1);
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

void proxy_free(struct proxy *proxy)
{
    close(proxy->stop[1]); /* the reading end becomes readable */
    for (size_t i = 0; i < CONNECTIONS; i++)
        pthread_join(proxy->threads[i], NULL);
    if (proxy->fault != PROXY_NONE) {
        fprintf(stderr, "test proxy: nothing was sent that contains \"%s\"\n", proxy->text);
        exit(1);
    }
    close(proxy->stop[0]);
    close(proxy->listener);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

unsigned proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

void proxy_arm(struct proxy *proxy, enum proxy_fault fault, const char *text)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->fault = fault;
    proxy->text = text;
    pthread_mutex_unlock(&proxy->lock);
}
