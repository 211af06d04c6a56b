/* A server in this process, and a client that sends exactly the bytes that it is given. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/server.h"
#include "slowness.h"

#define PATIENCE_MS 5000

/* Starts a server on a free port of 127.0.0.1, with defaults for settings that are 0. */
static inline struct http_server *serve(
    const struct http_route *routes, size_t count, struct http_server_settings settings)
{
    struct http_server *server = NULL;
    struct detail detail = {0};
    settings.address = "127.0.0.1:0";
    settings.routes = routes;
    settings.route_count = count;
    if (http_server_start(&settings, &server, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return server;
}

/* Defines `server`, which serves the routes, and the group's setup and teardown: start and stop. */
#define SERVER_OF(routes)                                                                                    \
    static struct http_server *server;                                                                       \
    static int start(void **state)                                                                           \
    {                                                                                                        \
        server = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});                         \
        return 0;                                                                                            \
    }                                                                                                        \
    static int stop(void **state)                                                                            \
    {                                                                                                        \
        http_server_free(server);                                                                            \
        return 0;                                                                                            \
    }

struct client {
    int fd;
    size_t len;
    char heard[1 << 17];
};

struct reply {
    int status;
    char *head, *body; /* terminated, inside the reply's own memory */
    size_t body_len;
    char text[1 << 17];
};

static inline void dial(struct client *client, const struct http_server *server)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)http_server_port(server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    client->len = 0;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    assert_int_equal(connect(client->fd, (struct sockaddr *)&to, sizeof to), 0);
}

static inline void hang_up(struct client *client)
{
    close(client->fd);
}

/* Closes with RST instead of FIN. */
static inline void reset(struct client *client)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(client->fd);
}

static inline void say_bytes(struct client *client, const void *data, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(client->fd, (const char *)data + sent, len - sent, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
}

static inline void say(struct client *client, const char *text)
{
    say_bytes(client, text, strlen(text));
}

/* Reads more bytes; returns false at the end of the stream. Fails the test when none come for PATIENCE_MS,
 * longer on a slow machine. */
static inline bool listen_more(struct client *client)
{
    struct pollfd fd = {.fd = client->fd, .events = POLLIN};
    assert_true(client->len < sizeof client->heard);
    if (poll(&fd, 1, PATIENCE_MS) != 1 && poll(&fd, 1, (int)(slower(PATIENCE_MS) - PATIENCE_MS)) != 1)
        fail_msg("no answer");
    ssize_t got = recv(client->fd, client->heard + client->len, sizeof client->heard - client->len, 0);
    client->len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static inline const char *reply_header(const struct reply *reply, const char *name)
{
    static _Thread_local char value[512];
    for (const char *line = reply->head; (line = strstr(line, "\r\n")) != NULL;) {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ':')
            continue;
        line += strlen(name) + 1;
        line += strspn(line, " ");
        snprintf(value, sizeof value, "%.*s", (int)strcspn(line, "\r\n"), line);
        return value;
    }
    return NULL;
}

/* Reads exactly one reply. bodiless: the reply to a HEAD. Returns false when the stream ended before it. */
static inline bool hear_as(struct client *client, struct reply *reply, bool bodiless)
{
    char *end;
    *reply = (struct reply){0};
    while ((end = memmem(client->heard, client->len, "\r\n\r\n", 4)) == NULL)
        if (!listen_more(client))
            return false;
    size_t head_len = (size_t)(end - client->heard) + 4;
    memcpy(reply->text, client->heard, head_len);
    reply->text[head_len - 2] = '\0';
    reply->head = reply->text;
    assert_int_equal(sscanf(reply->head, "HTTP/1.1 %d", &reply->status), 1);
    const char *length = reply_header(reply, "Content-Length");
    reply->body_len = bodiless || length == NULL ? 0 : strtoul(length, NULL, 10);
    assert_true(head_len + reply->body_len < sizeof reply->text);
    while (client->len < head_len + reply->body_len)
        if (!listen_more(client))
            return false;
    reply->body = reply->text + head_len;
    memcpy(reply->body, client->heard + head_len, reply->body_len);
    client->len -= head_len + reply->body_len;
    memmove(client->heard, client->heard + head_len + reply->body_len, client->len);
    return true;
}

static inline bool hear(struct client *client, struct reply *reply)
{
    return hear_as(client, reply, false);
}

static inline void ask(struct client *client, struct reply *reply, const char *text)
{
    say(client, text);
    assert_true(hear(client, reply));
}

/* Sends one request on a connection of its own. */
static inline void ask_once(const struct http_server *server, struct reply *reply, const char *text)
{
    struct client client CLEANUP(hang_up);
    dial(&client, server);
    ask(&client, reply, text);
}

/* Whether the server has closed the connection and nothing more comes. */
static inline bool ended(struct client *client)
{
    return client->len == 0 && !listen_more(client);
}

static inline void assert_problem(const struct reply *reply, int status, const char *code)
{
    char member[80];
    snprintf(member, sizeof member, "\"code\":\"%s\"", code);
    assert_int_equal(reply->status, status);
    assert_non_null(strstr(reply->body, member));
    assert_string_equal(reply_header(reply, "Content-Type"), "application/problem+json");
}

#define HOST "Host: x\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define JSON_TYPE "Content-Type: application/json\r\n"
