/*
 * A small HTTP client for tests of the API: one connection, one request at a time, usable from any thread. A
 * server that does not answer within API_PATIENCE_MS ends the program with a message.
 */
#ifndef FAIRWAY_TESTS_API_CLIENT_H
#define FAIRWAY_TESTS_API_CLIENT_H

#include <jansson.h>

#include "base/bytes.h"

#define API_PATIENCE_MS 20000

struct api_client {
    int fd;
    struct buf heard; /* of the next reply */
};

struct api_reply {
    int status;
    char *head;   /* status line and fields */
    char *body;   /* terminated */
    json_t *json; /* the body, NULL when it is none */
};

void api_dial(struct api_client *client, unsigned port);
void api_hang_up(struct api_client *client);

/* Exactly these bytes. */
void api_say(struct api_client *client, const char *text);
/* A request; body NULL: none. fields (may be NULL) are further lines of the head, each with its CR LF. */
void api_send(
    struct api_client *client, const char *method, const char *target, const char *fields, const char *body);
/* The next reply; the caller wipes it. */
struct api_reply api_hear(struct api_client *client);
void api_reply_wipe(struct api_reply *reply);

/* A whole exchange, on a connection of its own. */
struct api_reply api_get(unsigned port, const char *target);
struct api_reply api_post(unsigned port, const char *target, const char *body);

/* A field of the head, in memory that the caller frees; NULL: absent. */
char *api_field(const struct api_reply *reply, const char *name);
/* A member of the body's object that must be a string; "" when it is not there or of another type. */
const char *api_text(const struct api_reply *reply, const char *name);

#endif
