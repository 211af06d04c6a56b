/*
 * A small HTTP client for tests of the API: one connection, one request at a time, from any thread. If no
 * reply comes within API_PATIENCE_MS, it ends the program with a message.
 */
#pragma once

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
    char *body;   /* NUL-terminated */
    json_t *json; /* the body, NULL if it is not JSON */
};

void api_connect(struct api_client *client, unsigned port);
void api_close(struct api_client *client);

/* Sends a request. body may be NULL; fields (may be NULL) are further lines of the head, each with its CR LF.
 */
void api_send(
    struct api_client *client, const char *method, const char *target, const char *fields, const char *body);
/* Receives the next reply; the caller wipes it. */
struct api_reply api_receive(struct api_client *client);
void api_reply_wipe(struct api_reply *reply);

/* Sends a request on a connection of its own and returns the reply, which the caller wipes. */
struct api_reply api_get(unsigned port, const char *target);
struct api_reply api_post(unsigned port, const char *target, const char *body);

/* Returns a field of the head in memory that the caller frees, or NULL if it is absent. */
char *api_header(const struct api_reply *reply, const char *name);
/* Returns a string member of the body's object; "" if it is absent or of another type. */
const char *api_text(const struct api_reply *reply, const char *name);
