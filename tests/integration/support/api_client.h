/*
 * A small HTTP client for tests of the API: one connection, one request at a time, from any thread. If no
 * reply comes within API_PATIENCE_MS, it ends the program with a message.
 */
#ifndef FAIRWAY_TESTS_API_CLIENT_H
#define FAIRWAY_TESTS_API_CLIENT_H

#include <jansson.h>

#include "base/bytes.h"

#define API_PATIENCE_MS 20000

struct api_client {
    int fd;
    struct buf received; /* the beginning of the next reply */
};

struct api_reply {
    int status;
    char *head;   /* status line and fields */
    char *body;   /* terminated */
    json_t *json; /* the body, NULL when it is none */
};

void api_connect(struct api_client *client, unsigned port);
void api_close(struct api_client *client);

/* Exactly these bytes. */
void api_send_bytes(struct api_client *client, const char *text);
/* A request; body NULL: none. fields (may be NULL) are further lines of the head, each with its CR LF. */
void api_send(
    struct api_client *client, const char *method, const char *target, const char *fields, const char *body);
/* The next reply; the caller wipes it. */
struct api_reply api_receive(struct api_client *client);
void api_reply_wipe(struct api_reply *reply);

/* A whole exchange, on a connection of its own. */
struct api_reply api_get(unsigned port, const char *target);
struct api_reply api_post(unsigned port, const char *target, const char *body);

/* A field of the head, in memory that the caller frees; NULL: absent. */
char *api_header(const struct api_reply *reply, const char *name);
/* A member of the body's object that is a string; "" if it is absent or of another type. */
const char *api_text(const struct api_reply *reply, const char *name);

#endif
