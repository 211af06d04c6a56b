/* Opens the listening sockets of an address. No connection is accepted here. */
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#define BACKLOG 1024 /* connections that have not been accepted yet; net.core.somaxconn caps it */

void address_close(struct address_sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++)
        close(sockets->fds[i]);
    sockets->count = 0;
}

/* errno has the reason for -1. */
static int listen_on(const struct addrinfo *info, bool only_ipv6)
{
    int on = 1, v6only = only_ipv6;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info->ai_protocol);
    if (fd < 0)
        return -1;
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only);
    /* A restart must not wait for the old connections' TIME_WAIT. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

/* Debian's /etc/hosts gives localhost an IPv6 address also where the kernel has no IPv6 or has turned it off.
 */
static bool lacks_ipv6(const struct addrinfo *info, int reason)
{
    return info->ai_family == AF_INET6 && (reason == EAFNOSUPPORT || reason == EADDRNOTAVAIL);
}

static in_port_t *port_at(struct addrinfo *info)
{
    return info->ai_family == AF_INET6 ? &((struct sockaddr_in6 *)info->ai_addr)->sin6_port
                                       : &((struct sockaddr_in *)info->ai_addr)->sin_port;
}

static in_port_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound = {0};
    socklen_t len = sizeof bound;
    getsockname(fd, &bound.any, &len);
    return bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port;
}

static bool seen_before(const struct addrinfo *first, const struct addrinfo *info)
{
    for (; first != info; first = first->ai_next)
        if (first->ai_addrlen == info->ai_addrlen &&
            memcmp(first->ai_addr, info->ai_addr, info->ai_addrlen) == 0)
            return true;
    return false;
}

/* "127.0.0.1:8001", "[::1]:8001" */
static char *text_of(const struct addrinfo *info)
{
    char host[INET6_ADDRSTRLEN + 20] = "?", port[8] = "?";
    getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, port, sizeof port,
        NI_NUMERICHOST | NI_NUMERICSERV);
    return mem_format(info->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/*
 * Listens on each address of found, with one port. Returns NULL, or the address that failed, with the reason
 * in errno; then no socket is left open.
 */
static const struct addrinfo *listen_on_all(
    struct addrinfo *found, in_port_t port, struct address_sockets *out)
{
    const struct addrinfo *lacking = NULL;
    int reason = 0;
    for (struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        *port_at(info) = port;
        if (seen_before(found, info))
            continue;
        errno = EMFILE; /* of more than ADDRESSES_MAX */
        int fd = out->count == ADDRESSES_MAX ? -1 : listen_on(info, found->ai_next != NULL);
        if (fd >= 0) {
            out->fds[out->count++] = fd;
            port = *port_at(info) = port_of(fd);
            out->port = ntohs(port);
            continue;
        }
        reason = errno;
        lacking = info;
        if (!lacks_ipv6(info, reason)) {
            address_close(out);
            break;
        }
        AUTO_FREE char *text = text_of(info);
        log_debug("address skipped: no IPv6", "address=%s reason=\"%s\"", text, strerror(reason));
    }
    errno = reason;
    return out->count == 0 ? lacking : NULL;
}

/* Listens on the addresses of host. address: as configured, for messages. */
static enum err listen_host(
    const char *host, uint16_t port, const char *address, struct address_sockets *out, struct detail *detail)
{
    struct addrinfo *found, hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    int failure = getaddrinfo(host, NULL, &hints, &found);
    if (failure != 0)
        return detail_set(detail, ERR_CONFIG, "cannot listen on %s: %s", address,
            failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    const struct addrinfo *failed = listen_on_all(found, htons(port), out);
    enum err e = ERR_OK;
    if (failed != NULL) {
        int reason = errno;
        AUTO_FREE char *which = text_of(failed);
        bool literal = text_equal(which, address);
        e = detail_set(detail, ERR_CONFIG, "cannot listen on %s%s%s%s: %s%s", address, literal ? "" : " (",
            literal ? "" : which, literal ? "" : ")", strerror(reason),
            reason == EACCES ? " (fairway holds no capability: see net.ipv4.ip_unprivileged_port_start)"
                             : "");
    }
    freeaddrinfo(found);
    return e;
}

enum err address_listen(const char *address, struct address_sockets *out, struct detail *detail)
{
    AUTO_FREE char *host = mem_copy_text(address);
    char *port = strrchr(host, ':');
    uint64_t number;
    *out = (struct address_sockets){0};
    if (port == NULL || text_to_u64(port + 1, UINT16_MAX, &number) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "\"%s\" is not HOST:PORT.", address);
    *port = '\0';
    char *name = host;
    size_t len = strlen(host);
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        name = host + 1;
    } else if (strchr(host, ':') != NULL) {
        return detail_set(detail, ERR_CONFIG, "\"%s\": an IPv6 address must be in brackets.", address);
    }
    return listen_host(name, (uint16_t)number, address, out, detail);
}
