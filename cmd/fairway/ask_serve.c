/* Asks the serve process on this host. Needs PORT, LISTEN, ADMIN_PORT and ADMIN_LISTEN as `serve` has them,
 * and nothing else. */
#include "ask_serve.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/text.h"
#include "serve.h"

#define REPLY_MAX 131072 /* bytes; the probes send far less */

static bool wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd socket = {.fd = fd, .events = events};
    int ready;
    do
        ready = poll(&socket, 1, clock_left_ms(deadline_ms));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0;
}

/* Returns a connected socket, or -1 with errno set. */
static int connect_to(const struct addrinfo *info, int64_t deadline_ms)
{
    int error = 0;
    socklen_t size = sizeof error;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, info->ai_addr, info->ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            error = errno;
        else if (!wait_for(fd, POLLOUT, deadline_ms))
            error = errno;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static int connect_any(const char *host, const char *port, int64_t deadline_ms)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all;
    int fd = -1;
    errno = EADDRNOTAVAIL;
    if (getaddrinfo(host, port, &hints, &all) != 0)
        return -1;
    for (const struct addrinfo *info = all; info != NULL && fd < 0; info = info->ai_next)
        fd = connect_to(info, deadline_ms);
    const int reason = errno;
    freeaddrinfo(all);
    errno = reason;
    return fd;
}

/* Sends the request and reads until the server closes the connection. False with errno set. */
static bool exchange(int fd, const char *path, int64_t deadline_ms, char reply[static REPLY_MAX])
{
    size_t len = 0;
    snprintf(reply, REPLY_MAX, "GET %s HTTP/1.1\r\nHost: fairway\r\nConnection: close\r\n\r\n", path);
    if (send(fd, reply, strlen(reply), MSG_NOSIGNAL) < 0)
        return false;
    for (;;) {
        if (!wait_for(fd, POLLIN, deadline_ms))
            return false;
        const ssize_t got = recv(fd, reply + len, REPLY_MAX - 1 - len, 0);
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (got == 0 || (got > 0 && (len += (size_t)got) == REPLY_MAX - 1))
            break;
    }
    reply[len] = '\0';
    return true;
}

/* Copies listen without the brackets that an IPv6 address may have. */
static const char *bare_host(const char *listen, char host[static 256])
{
    const size_t len = strlen(listen);
    if (listen[0] == '[' && listen[len - 1] == ']')
        snprintf(host, 256, "%.*s", (int)len - 2, listen + 1);
    else
        snprintf(host, 256, "%s", listen);
    return host;
}

static int ask(const char *name, const char *host, const char *port, const char *path, const char **body)
{
    static char reply[REPLY_MAX];
    const int64_t deadline_ms = clock_ms() + HEALTH_TIMEOUT_MS;
    int status = 0;
    const int fd = connect_any(host, port, deadline_ms);
    const bool answered = fd >= 0 && exchange(fd, path, deadline_ms, reply);
    if (!answered)
        fprintf(stderr, "fairway %s: no answer from %s port %s: %s\n", name, host, port, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!answered)
        return 0;
    *body = strstr(reply, "\r\n\r\n");
    if (sscanf(reply, "HTTP/1.1 %3d", &status) != 1 || *body == NULL) {
        fprintf(stderr, "fairway %s: the reply is not HTTP\n", name);
        return 0;
    }
    *body += 4;
    return status;
}

int ask_serve(const struct config *config, const char *name, const char *path, const char **body)
{
    const bool admin = listeners_want_admin(config);
    const char *listen = admin ? config_text(config, "ADMIN_LISTEN") : authentication_listen(config);
    char host[256], port[12];
    snprintf(port, sizeof port, "%u",
        admin ? listeners_admin_port(config) : (unsigned)config_number(config, "PORT"));
    if (text_equal(port, "0")) {
        fprintf(stderr,
            "fairway %s: the port is not known: set PORT or ADMIN_PORT to the port that serve uses\n", name);
        return -1;
    }
    return ask(name, bare_host(listen, host), port, path, body);
}
