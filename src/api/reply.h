/* What all endpoints read from a request and write into a reply. */
#pragma once

#include "auth/auth.h"
#include "base/json.h"
#include "base/json_write.h"
#include "http/http.h"
#include "stellar/ids.h"

/* The name of the client that sent the request; leases belong to it. "" with AUTH=none. */
const char *api_client(const struct http_request *request);
/* The limits of that client. */
const struct limits *api_limits(const struct http_request *request);

/* Replies with an object that is complete but for its end. */
void api_reply(struct http_request *request, int status, struct json_write *object);
/* The same with its text (json_write_end), which is freed. */
void api_reply_text(struct http_request *request, int status, char *text);
/*
 * Replies with a problem, and with Retry-After where a retry can help. The detail of a 4xx is shown to the
 * client; that of a 5xx is logged with the request's id instead.
 */
void api_refuse(struct http_request *request, enum err e, const struct detail *detail);
/* The same with Retry-After: after_s (0: by the error), and with more members in the problem: the text of an
 * object, which is freed; NULL: none. */
void api_refuse_with(
    struct http_request *request, enum err e, const struct detail *detail, int after_s, char *members);

/* Reads limit, how many items a page may have: 100 unless it is given. */
MUST_CHECK enum err api_read_limit(
    const struct http_request *request, size_t max, size_t *limit, struct detail *detail);
/* Reads the body, a JSON object, which the caller json_decrefs. Frees the request's body. */
MUST_CHECK enum err api_read_body(struct http_request *request, json_t **body, struct detail *detail);
/* Appends the decoded transactionXdr to *xdr. */
MUST_CHECK enum err api_read_envelope(const json_t *body, struct buf *xdr, struct detail *detail);

void api_write_hash(struct json_write *out, const char *name, const struct hash *hash);
void api_write_address(struct json_write *out, const char *name, const struct public_key *key);
