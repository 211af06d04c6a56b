/*
 * The life of one request between libmicrohttpd's thread, which reads it, runs its handler and writes its
 * reply, and whatever thread answers it.
 */
#ifndef FAIRWAY_HTTP_REQUEST_H
#define FAIRWAY_HTTP_REQUEST_H

#include "hangups.h"
#include "head.h"
#include "route.h"
#include "server.h"
#include "target.h"

/*
 *            handler called           handler returned
 *   ARRIVING ---------------> HANDLED ----------------> SUSPENDED
 *      | refused                 | reply                    | reply; the connection is resumed
 *      +-------------------------+-----------> ANSWERED <---+
 *                                                  | on the connection's own thread
 *                                                  v
 *                                                QUEUED
 *
 * HANDLED and SUSPENDED belong to whoever answers, all else to the connection's thread. Moving to ANSWERED
 * gives the request back: from then on the connection's thread may free it at any moment.
 */
enum phase {
    ARRIVING,
    HANDLED,
    SUSPENDED,
    ANSWERED,
    QUEUED
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct connection *peer;
    _Atomic enum phase phase;
    int64_t began_us;
    char id[33];
    char method[16]; /* for the log, cut */

    struct target target;
    struct route_match match;
    bool head_seen;
    enum err refusal; /* what the server itself refuses it with; ERR_OK: nothing */
    struct detail refusal_detail;
    struct buf body;
    size_t dropped; /* bytes of body that were read and not kept */

    int status; /* with response: written before ANSWERED, read after */
    struct MHD_Response *response;
    bool client_left; /* it was answered with ERR_CANCELLED, for the log */

    struct hangup hangup;
    bool hangup_watched;
};

/* The callbacks of MHD_start_daemon; context is the server. */
void *request_begin(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_continue(void *context, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *data, size_t *data_len, void **request);
void request_end(
    void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how);

/* Gives the request back with its response (taken over); the request must not be touched afterwards. */
void request_answer(struct http_request *request, int status, struct MHD_Response *response);

/* reply.c: a problem for a request that no handler has seen. */
void reply_refusal(struct http_request *request, enum err e, const struct detail *detail);

#endif
