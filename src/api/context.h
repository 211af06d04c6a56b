/* What the endpoints share. */
#ifndef FAIRWAY_API_CONTEXT_H
#define FAIRWAY_API_CONTEXT_H

#include <jansson.h>

#include "api/api.h"
#include "slots.h"
#include "workers.h"

#define ROUTES_MAX 12

struct api {
    struct api_settings settings;
    struct workers *workers;
    struct slots slots;
    atomic_bool stopping; /* /readyz says so */
    struct http_route routes[ROUTES_MAX];
    size_t route_count;
};

/* Handlers; the context is the struct api. */
void post_transaction(struct http_request *request, void *api);
void get_transaction(struct http_request *request, void *api);
void post_fee_bump(struct http_request *request, void *api);
void get_pool(struct http_request *request, void *api);
void get_channel_accounts(struct http_request *request, void *api);
void get_livez(struct http_request *request, void *api);
void get_readyz(struct http_request *request, void *api);
void get_metrics(struct http_request *request, void *api);

/* The name under which this request's client owns leases. '' while nobody is authenticated. */
const char *client_of(const struct http_request *request);

/* Replies with the object, which is given away. */
void reply(struct http_request *request, int status, json_t *object);
/*
 * Replies with the problem, with Retry-After where trying again helps. What went wrong on our side goes to
 * the log, under the request's id, and not to the client.
 */
void refuse(struct http_request *request, enum err e, const struct detail *detail);
/* The same with further members; the object is given away, NULL: none. */
void refuse_with(struct http_request *request, enum err e, const struct detail *detail, json_t *members);

/*
 * Reads the body: an object of which nothing is there but what names allows (transactionXdr is one of them).
 * *body is the caller's to free; the decoded base64 of transactionXdr is appended to *xdr.
 */
MUST_CHECK enum err read_transaction_body(struct http_request *request, const char *const names[],
    size_t name_count, json_t **body, struct buf *xdr, struct detail *detail);

/* Values in the API's forms: int64 and times as decimal strings, hashes as hex, XDR as base64. New
 * references. */
json_t *json_decimal(int64_t value);
json_t *json_hash(const struct hash *hash);
json_t *json_address(const struct public_key *key);
json_t *json_base64(struct bytes bytes);

#endif
