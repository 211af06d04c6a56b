/*
 * HTTP POST over one persistent connection (libcurl). A request is limited in time and size, and is cancelled
 * when cancel_fd becomes readable. Only http and https are used. Redirects and the proxies of the environment
 * are ignored: a request goes to the configured URL only.
 */
#ifndef FAIRWAY_RPC_TRANSPORT_H
#define FAIRWAY_RPC_TRANSPORT_H

#include "base/bytes.h"
#include "base/err.h"
#include "rpc/rpc.h"

struct transport;

struct transport *transport_new(const struct rpc_settings *settings);
void transport_free(struct transport *transport); /* NULL is fine */

/*
 * Posts the JSON text. A body above max_body bytes is refused. *status is the HTTP status; *body is valid
 * until the next call, or until transport_take. ERR_RPC_UNAVAILABLE: no complete response, or one that is not
 * HTTP. ERR_CANCELLED. ERR_CONFIG: the URL is not http or https. detail never contains the URL, which may
 * hold an API key.
 */
MUST_CHECK enum err transport_post(struct transport *transport, const char *json, size_t max_body,
    long *status, struct bytes *body, struct detail *detail);

/* Requests carry this X-Request-Id until it is set again; NULL: none. Longer than 64 bytes, it is cut. */
void transport_set_request_id(struct transport *transport, const char *id);

/* The body of the last response, which the caller may change, and frees. */
struct buf transport_take(struct transport *transport);

/* Sleeps for ms milliseconds. Returns ERR_CANCELLED as soon as cancel_fd is readable. */
MUST_CHECK enum err transport_pause(const struct transport *transport, unsigned ms);

#endif
