#include "api_client.h"

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

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "API client: %s: %s\n", what, strerror(errno));
    abort();
}

void api_connect(struct api_client *client, unsigned port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    *client = (struct api_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(client->fd, (struct sockaddr *)&to, sizeof to) != 0)
        give_up("connect");
}

void api_close(struct api_client *client)
{
    close(client->fd);
    buf_free(&client->received);
}

static void api_send_bytes(struct api_client *client, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t sent = send(client->fd, text, left, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the server has closed the connection; its reply says why */
        text += sent;
        left -= (size_t)sent;
    }
}

void api_send(
    struct api_client *client, const char *method, const char *target, const char *fields, const char *body)
{
    AUTO_FREE char *content = body == NULL ? mem_copy_text("")
                                           : mem_format("Content-Type: application/json\r\n"
                                                        "Content-Length: %zu\r\n",
                                                 strlen(body));
    AUTO_FREE char *request = mem_format("%s %s HTTP/1.1\r\nHost: test\r\n%s%s\r\n%s", method, target,
        fields == NULL ? "" : fields, content, body == NULL ? "" : body);
    api_send_bytes(client, request);
}

/* False: the connection has ended. */
static bool receive_more(struct api_client *client, int64_t deadline_ms)
{
    struct pollfd fd = {.fd = client->fd, .events = POLLIN};
    int ready = poll(&fd, 1, clock_left_ms(deadline_ms));
    if (ready < 0 && errno == EINTR)
        return true;
    if (ready <= 0)
        give_up("no reply");
    buf_reserve(&client->received, 65536);
    ssize_t got = recv(client->fd, client->received.data + client->received.len, 65536, 0);
    client->received.len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

char *api_header(const struct api_reply *reply, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = reply->head; (line = strstr(line, "\r\n")) != NULL;) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        line += len + 1;
        line += strspn(line, " ");
        return mem_format("%.*s", (int)strcspn(line, "\r\n"), line);
    }
    return NULL;
}

struct api_reply api_receive(struct api_client *client)
{
    int64_t deadline_ms = clock_ms() + slower(API_PATIENCE_MS);
    struct api_reply reply = {0};
    const char *end;
    buf_reserve(&client->received, 1); /* memmem must not get NULL */
    while ((end = memmem(client->received.data, client->received.len, "\r\n\r\n", 4)) == NULL)
        if (!receive_more(client, deadline_ms))
            give_up("the connection ended before the reply");
    size_t head_len = (size_t)(end - (const char *)client->received.data) + 4;
    reply.head = mem_format("%.*s", (int)head_len, (const char *)client->received.data);
    AUTO_FREE char *length = api_header(&reply, "Content-Length");
    if (sscanf(reply.head, "HTTP/1.1 %d", &reply.status) != 1 || length == NULL)
        give_up("not a reply that this client understands");
    size_t whole = head_len + strtoul(length, NULL, 10);
    while (client->received.len < whole)
        if (!receive_more(client, deadline_ms))
            give_up("the connection ended in the reply");
    reply.body = mem_format("%.*s", (int)(whole - head_len), (const char *)client->received.data + head_len);
    reply.json = json_loads(reply.body, JSON_REJECT_DUPLICATES, NULL);
    client->received.len -= whole;
    memmove(client->received.data, client->received.data + whole, client->received.len);
    return reply;
}

void api_reply_wipe(struct api_reply *reply)
{
    free(reply->head);
    free(reply->body);
    json_decref(reply->json);
    *reply = (struct api_reply){0};
}

static struct api_reply call(unsigned port, const char *method, const char *target, const char *body)
{
    struct api_client client;
    api_connect(&client, port);
    api_send(&client, method, target, NULL, body);
    struct api_reply reply = api_receive(&client);
    api_close(&client);
    return reply;
}

struct api_reply api_get(unsigned port, const char *target)
{
    return call(port, "GET", target, NULL);
}

struct api_reply api_post(unsigned port, const char *target, const char *body)
{
    return call(port, "POST", target, body);
}

const char *api_text(const struct api_reply *reply, const char *name)
{
    const char *text = json_string_value(json_object_get(reply->json, name));
    return text == NULL ? "" : text;
}
