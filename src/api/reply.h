/* What all endpoints read from a request and write into a reply. */
#ifndef FAIRWAY_API_REPLY_H
#define FAIRWAY_API_REPLY_H

#include <jansson.h>

#include "auth/auth.h"
#include "http/http.h"
#include "json_write.h"
#include "stellar/ids.h"

/* The name of the client that sent the request; leases belong to it. "" with AUTH=none. */
const char *api_client(const struct http_request *request);
/* The limits of that client. */
const struct auth_limits *api_limits(const struct http_request *request);

/* Replies with the object, whose reference it takes over. */
void api_reply(struct http_request *request, int status, json_t *object);
/* The same with an object that is complete but for its end. */
void api_reply_written(struct http_request *request, int status, struct json_write *object);
/*
 * Replies with a problem, and with Retry-After where a retry can help. The detail of a 4xx is shown to the
 * client; that of a 5xx is logged with the request's id instead.
 */
void api_refuse(struct http_request *request, enum err e, const struct detail *detail);
/* The same with more members in the problem (NULL: none), whose reference it takes over. */
void api_refuse_with(struct http_request *request, enum err e, const struct detail *detail, json_t *members);

/*
 * Reads the body: a JSON object that has no members but those in names, of which transactionXdr is one. The
 * caller json_decrefs *body. The decoded transactionXdr is appended to *xdr. Frees the request's body.
 */
MUST_CHECK enum err api_read_transaction(struct http_request *request, const char *const names[],
    size_t name_count, json_t **body, struct buf *xdr, struct detail *detail);

/* For ERR_LIMIT_EXCEEDED, the limit's name as a member of the problem (a new reference); NULL for other
 * errors. */
json_t *api_json_limit(enum err e, const char *name);
/* New references. Amounts, sequence numbers and times are decimal strings, hashes hex, bytes base64. */
json_t *api_json_decimal(int64_t value);
json_t *api_json_hash(const struct hash *hash);
json_t *api_json_address(const struct public_key *key);
json_t *api_json_base64(struct bytes bytes);

#endif
