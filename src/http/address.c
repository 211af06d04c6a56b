#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

/* Arrivals that the accept loop has not come to yet; the kernel caps it at net.core.somaxconn. */
enum {
    BACKLOG = 1024
};

static int listen_on(const struct addrinfo *info)
{
    int on = 1, off = 0;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info->ai_protocol);
    if (fd < 0)
        return -1;
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    /* A restart must not wait for the old connections' TIME_WAIT. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

/* errno tells why for -1. */
static int listen_first(const char *host, const char *port)
{
    struct addrinfo *found, hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    errno = 0;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        errno = errno == 0 ? EADDRNOTAVAIL : errno;
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *info = found; info != NULL && fd < 0; info = info->ai_next)
        fd = listen_on(info);
    freeaddrinfo(found);
    return fd;
}

enum err address_listen(const char *address, int *out, struct detail *detail)
{
    AUTO_FREE char *host = mem_copy_text(address);
    char *port = strrchr(host, ':');
    uint64_t number;
    if (port == NULL || text_to_u64(port + 1, UINT16_MAX, &number) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "\"%s\" is not HOST:PORT.", address);
    *port++ = '\0';
    char *name = host;
    size_t len = strlen(host);
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        name = host + 1;
    } else if (strchr(host, ':') != NULL) {
        return detail_set(detail, ERR_CONFIG, "\"%s\": an IPv6 address stands in brackets.", address);
    }
    /* Without a host: one socket for both families; a kernel without IPv6 gets IPv4 alone. */
    int fd = listen_first(name[0] == '\0' ? "::" : name, port);
    if (fd < 0 && name[0] == '\0')
        fd = listen_first("0.0.0.0", port);
    if (fd < 0)
        return detail_set(detail, ERR_CONFIG, "cannot listen on %s: %s", address, strerror(errno));
    *out = fd;
    return ERR_OK;
}
