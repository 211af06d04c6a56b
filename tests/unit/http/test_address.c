/*
 * Which sockets are opened for an address. The resolver, socket(2) and bind(2) are replaced here, so that
 * every kind of /etc/hosts is tested on every host.
 */
#include "client.h"

#include <netdb.h>
#include <sys/syscall.h>

/* The addresses of the names of this test, in the resolver's order. */
static struct {
    const char *name;
    const char *addresses[5];
} const hosts[] = {
    {"debian.test", {"::1", "127.0.0.1"}},
    {"other.test", {"127.0.0.1", "::1"}},
    {"pair.test", {"127.0.0.1", "127.0.0.2"}},
    {"twice.test", {"127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.1"}},
    {"six.test", {"::1"}},
    {"foreign.test", {"127.0.0.1", "192.0.2.1"}},
};

static struct {
    bool no_ipv6;     /* the kernel does not know the family */
    bool ipv6_is_off; /* it knows it, and no interface has an IPv6 address */
} kernel;

static struct addrinfo *info_new(const char *text, const char *port)
{
    struct addrinfo *info = NULL,
                    numeric = {
                        .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(port))};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six.sin6_port};
    bool is_six = inet_pton(AF_INET6, text, &six.sin6_addr) == 1;
    assert_true(is_six || inet_pton(AF_INET, text, &four.sin_addr) == 1);
    info = NEW(struct addrinfo);
    *info = numeric;
    info->ai_family = is_six ? AF_INET6 : AF_INET;
    info->ai_addrlen = is_six ? sizeof six : sizeof four;
    info->ai_addr = mem_copy(is_six ? (void *)&six : (void *)&four, info->ai_addrlen);
    return info;
}

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
    const char *literal[2] = {name, NULL}, *const *addresses = literal;
    struct in6_addr ignored;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        if (strcmp(name, hosts[i].name) == 0)
            addresses = hosts[i].addresses;
    if (addresses == literal && inet_pton(AF_INET, name, &ignored) != 1 &&
        inet_pton(AF_INET6, name, &ignored) != 1)
        return EAI_NONAME;
    for (; *addresses != NULL; addresses++, out = &(*out)->ai_next)
        *out = info_new(*addresses, port == NULL ? "0" : port);
    return 0;
}

void freeaddrinfo(struct addrinfo *info)
{
    for (struct addrinfo *next; info != NULL; info = next) {
        next = info->ai_next;
        free(info->ai_addr);
        free(info);
    }
}

int socket(int family, int type, int protocol)
{
    if (family == AF_INET6 && kernel.no_ipv6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    if (address->sa_family == AF_INET6 && kernel.ipv6_is_off) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    return (int)syscall(SYS_bind, fd, address, len);
}

static void answer(struct http_request *request, void *context)
{
    http_reply_json(request, 200, mem_copy_text("{}"));
}

static const struct http_route routes[] = {{"GET", "/", 0, answer, NULL, NULL}};

static enum err start(const char *address, struct http_server **server, struct detail *detail)
{
    *server = NULL;
    *detail = (struct detail){0};
    return http_server_start(
        &(struct http_server_settings){.address = address, .routes = routes, .route_count = 1}, server,
        detail);
}

static struct http_server *must_start(const char *address)
{
    struct http_server *server;
    struct detail detail;
    if (start(address, &server, &detail) != ERR_OK)
        fail_msg("%s: %s", address, detail.text);
    return server;
}

/* Whether a client can connect to this address and gets a reply. */
static bool answers(const struct http_server *server, const char *address)
{
    AUTO_FREE char *port = mem_format("%u", http_server_port(server));
    struct addrinfo *to = info_new(address, port);
    AUTO_FREE struct client *client = NEW(struct client);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    client->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = client->fd >= 0 && connect(client->fd, to->ai_addr, to->ai_addrlen) == 0;
    if (connected) {
        ask(client, reply, GET("/"));
        assert_int_equal(reply->status, 200);
    }
    close(client->fd);
    freeaddrinfo(to);
    return connected;
}

static int as_it_is(void **state)
{
    memset(&kernel, 0, sizeof kernel);
    return 0;
}

static bool host_has_ipv6(void)
{
    struct addrinfo *info = info_new("::1", "0");
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool has = fd >= 0 && syscall(SYS_bind, fd, info->ai_addr, info->ai_addrlen) == 0;
    close(fd);
    freeaddrinfo(info);
    return has;
}

TEST_WITH(a_name_listens_on_all_of_its_addresses_with_one_port, as_it_is, NULL)
{
    static const char *const names[] = {"debian.test:0", "other.test:0", "pair.test:0", "twice.test:0"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct http_server *server = must_start(names[i]);
        bool pair = i >= 2;
        assert_true(answers(server, "127.0.0.1"));
        if (pair)
            assert_true(answers(server, "127.0.0.2"));
        else
            assert_true(answers(server, "::1") == host_has_ipv6());
        http_server_free(server);
    }
}

TEST_WITH(an_address_in_use_is_named, as_it_is, NULL)
{
    struct http_server *first = must_start("127.0.0.2:0"), *second;
    struct detail detail;
    AUTO_FREE char *taken = mem_format("pair.test:%u", http_server_port(first));
    AUTO_FREE char *which = mem_format("127.0.0.2:%u", http_server_port(first));
    assert_int_equal(start(taken, &second, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, taken));
    assert_non_null(strstr(detail.text, which));
    assert_non_null(strstr(detail.text, strerror(EADDRINUSE)));
    http_server_free(first);
}

TEST_WITH(an_address_of_another_host_is_named, as_it_is, NULL)
{
    struct http_server *none;
    struct detail detail;
    assert_int_equal(start("foreign.test:0", &none, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "192.0.2.1"));
}

TEST_WITH(without_ipv6_the_other_addresses_are_listened_on, as_it_is, NULL)
{
    static const char *const names[] = {"debian.test:0", "other.test:0"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(names); i++) {
        kernel.no_ipv6 = i % 2 == 0;
        kernel.ipv6_is_off = i % 2 == 1;
        struct http_server *server = must_start(names[i / 2]);
        assert_true(answers(server, "127.0.0.1"));
        http_server_free(server);
    }
}

TEST_WITH(a_name_of_which_no_address_works_is_an_error, as_it_is, NULL)
{
    struct http_server *none;
    struct detail detail;
    kernel.no_ipv6 = true;
    assert_int_equal(start("six.test:0", &none, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, strerror(EAFNOSUPPORT)));
    assert_int_equal(start("nowhere.test:0", &none, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "nowhere.test"));
    assert_null(none);
}
