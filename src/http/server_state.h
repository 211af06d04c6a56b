/* What the files of the server share. */
#pragma once

#include <microhttpd.h>
#include <stdatomic.h>

#include "http/server.h"
#include "listener.h"

#define HTTP_THREADS 2 /* unless the settings ask for one */

enum server_stage {
    SERVING,
    DRAINING, /* what arrives on open connections is still served; each reply closes its connection */
    CLOSED    /* no handler is called any more */
};

struct http_server {
    struct http_route *routes;
    unsigned *route_labels; /* of METRIC_ROUTE, as routes */
    size_t route_count;
    /* Each a daemon with one thread. The library's own thread pool needs a listening socket, which it cannot
     * close without a race. */
    struct MHD_Daemon *workers[HTTP_THREADS];
    unsigned worker_count, next_worker;
    struct connections *connections;
    struct listener *listener;
    unsigned port;
    uint64_t id_prefix, id_base;
    atomic_uint_least64_t id_count;
    _Atomic enum server_stage stage;
    atomic_uint in_progress;    /* requests from their request line to their end */
    atomic_uint in_handlers;    /* handlers that have not returned yet */
    atomic_uint awaiting_reply; /* requests that a handler has got and whose http_reply_* has not returned */
};
