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

struct proxy {
    int listener, stop[2];
    unsigned port, target_port;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    enum proxy_fault fault;
    const char *text;
};

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static enum proxy_fault fault_of(struct proxy *proxy, const char *data, size_t len)
{
    enum proxy_fault fault = PROXY_NONE;
    pthread_mutex_lock(&proxy->lock);
    if (proxy->fault != PROXY_NONE && memmem(data, len, proxy->text, strlen(proxy->text)) != NULL) {
        fault = proxy->fault;
        proxy->fault = PROXY_NONE;
    }
    pthread_mutex_unlock(&proxy->lock);
    return fault;
}

/* Returns false when the connection is over. */
static bool forward(struct proxy *proxy, int from, int to, bool from_client)
{
    char data[65536];
    ssize_t len = recv(from, data, sizeof data, 0);
    if (len <= 0)
        return false;
    enum proxy_fault fault = from_client ? fault_of(proxy, data, (size_t)len) : PROXY_NONE;
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
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    bool open = connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    while (open) {
        struct pollfd fds[] = {{.fd = proxy->stop[0], .events = POLLIN}, {.fd = client, .events = POLLIN},
            {.fd = server, .events = POLLIN}};
        open = poll(fds, ARRAY_LEN(fds), -1) > 0 && fds[0].revents == 0;
        if (open && fds[1].revents != 0)
            open = forward(proxy, client, server, true);
        else if (open && fds[2].revents != 0)
            open = forward(proxy, server, client, false);
    }
    close(server);
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
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&proxy->lock, NULL);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 8) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &len) != 0 ||
        pipe2(proxy->stop, O_CLOEXEC) != 0 || pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        perror("test proxy");
        exit(1);
    }
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

void proxy_free(struct proxy *proxy)
{
    close(proxy->stop[1]); /* the reading end becomes readable */
    pthread_join(proxy->thread, NULL);
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
