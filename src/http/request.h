/*
 * One request, from its request line to the end of its reply. The connection's thread, one of
 * libmicrohttpd's, reads it, runs its handler and writes the reply; any thread may reply.
 */
#pragma once

#include "head.h"
#include "route.h"
#include "server_state.h"
#include "target.h"

/*
 *            handler called           handler returned
 *   ARRIVING ---------------> HANDLED ----------------> SUSPENDED
 *      | refused                 | reply                    | reply; the connection is resumed
 *      +-------------------------+-----------> REPLIED <---+
 *                                                  | on the connection's own thread
 *                                                  v
 *                                                QUEUED
 *
 * In HANDLED and SUSPENDED the request belongs to the thread that replies, else to the connection's thread.
 * The move to REPLIED gives it back: from then on the connection's thread may free it at any moment.
 */
enum request_phase {
    ARRIVING,
    HANDLED,
    SUSPENDED,
    REPLIED,
    QUEUED
};

struct request {
    struct http_request http; /* first: what endpoints read */
    struct http_server *server;
    struct MHD_Connection *connection;
    struct connection *peer;
    _Atomic enum request_phase phase;
    int64_t began_us;
    char client_name[65], transaction[65]; /* for the log */

    struct target target;
    const char *target_at; /* where the library has it; overwritten when the head is complete */
    struct route_match match;
    bool head_seen;
    enum err refused; /* ERR_OK, or why the server itself refuses it */
    struct http_refusal refusal;
    bool closes; /* the connection, after the reply: where the next request begins is uncertain */

    int status; /* with response: written before REPLIED, read after */
    struct MHD_Response *response;
    unsigned client; /* of METRIC_CLIENT */
    enum err error;  /* for the log: it was replied to with this problem; ERR_OK: with none */
    bool watched;    /* connection_watch */
};

/* The callbacks of MHD_start_daemon; context is the server. */
void *request_begin(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_continue(void *context, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *data, size_t *data_len, void **request);
void request_end(
    void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how);

/* Replies with the response, which is taken over. The request must not be touched afterwards. Waits for the
 * callback of http_on_client_gone if it runs. */
void request_reply(struct request *request, int status, struct MHD_Response *response);
