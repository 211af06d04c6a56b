/*
 * One HTTP POST at a time over one kept connection (libcurl), bounded in time and size, and ended at once
 * when cancel_fd becomes readable. Only http and https; redirects are not followed, and the environment's
 * proxies are not used: the request goes to where the configuration says or nowhere.
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
 * Posts the JSON text. *status is the HTTP status, *body the answer, valid until the next call.
 * ERR_RPC_UNAVAILABLE: no complete answer. ERR_CANCELLED. ERR_CONFIG: the URL is none of ours. detail never
 * quotes the URL, which may hold a key.
 */
MUST_CHECK enum err transport_post(
    struct transport *transport, const char *json, long *status, struct bytes *body, struct detail *detail);

/* Waits between two calls. ERR_CANCELLED as soon as cancel_fd is readable. */
MUST_CHECK enum err transport_pause(const struct transport *transport, int ms);

#endif
