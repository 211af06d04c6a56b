/*
 * Who sent a request. A client signs each request with a Stellar key: it sends a JSON web token (RFC 7519)
 * with the claims of wallet-backend's clients, which names the method, the target and the body's hash, and is
 * valid for seconds. Clients and their keys come from an option and from a file, which is read again while
 * the service runs.
 */
#pragma once

#include "limits/limits.h"

#include "base/deadlines.h"
#include "stellar/ids.h"

#define AUTH_NAME_SIZE 65   /* a client's name: 1 to 64 of A-Z a-z 0-9 . _ - */
#define AUTH_TOKEN_MAX 4096 /* characters of a token */

/* What a client may do; ORed. */
enum auth_scope {
    AUTH_LEASE = 1,    /* POST /v1/transactions and /v1/submissions */
    AUTH_FEE_BUMP = 2, /* POST /v1/fee-bumps */
    AUTH_STATUS = 4,   /* GET /v1/transactions, /v1/transactions/{hash} and /v1/info */
    AUTH_POOL = 8,     /* GET /v1/pool and /v1/channel-accounts */
    AUTH_ALL = 15
};

struct auth_settings {
    const char *public_keys;  /* G...,G...: a client each, whose name is its key. NULL: none */
    const char *clients_file; /* NULL: none */
    bool audience_required;   /* refuse a token without aud */
};

/* The authenticated sender of one request. */
struct auth_client {
    struct public_key key;
    char name[AUTH_NAME_SIZE];
    struct limits limits;
    struct hash token;     /* SHA-256 of the token: equal only for equal requests of one client */
    struct hash body_hash; /* SHA-256 of the only body that the token is for; see auth_check_body */
    bool others;           /* there are other clients */
    /* After ERR_UNAUTHORIZED: the reason depends on the clients or on a signature. It is for the log only. */
    bool reason_hidden;
};

/* The head of a request as it was received. */
struct auth_request {
    const char *method, *target; /* the target is raw, with its query */
    const char *authorization;   /* the header; NULL: none */
    const char *idempotency_key; /* the header; NULL: none */
    const char *audience;        /* what aud must contain: the network's passphrase */
    enum auth_scope scope;
    int64_t now_s; /* Unix time of this host */
};

struct auth;

/*
 * Reads the clients. ERR_CONFIG: a key or a name is malformed or occurs twice, the file cannot be read or is
 * not as described in the operator's page, or there is no client at all; detail says where.
 */
MUST_CHECK enum err auth_open(const struct auth_settings *settings, struct auth **out, struct detail *detail);
void auth_free(struct auth *auth); /* NULL is fine */
/*
 * Reads the clients again. On an error the earlier ones stay. When it returns ERR_OK, no later auth_check
 * accepts a key that was removed. A file that says {} is no error: it revokes all clients.
 */
MUST_CHECK enum err auth_reload(struct auth *auth, struct detail *detail);
/* Whether the file should be read again: it has another inode, size or change time than when it was last
 * read, or it cannot be opened. The same thread calls it and auth_reload. */
bool auth_changed(struct auth *auth);
/* Whether the last auth_reload failed. Any thread. */
bool auth_stale(const struct auth *auth);
size_t auth_key_count(struct auth *auth);

/*
 * Judges a request before its body is read. ERR_OK: *out is the client whose key has signed the token for
 * exactly this request, if auth_check_body accepts its body too. ERR_UNAUTHORIZED: why has the reason; the
 * sender may read it unless out->reason_hidden. ERR_FORBIDDEN: the client is known, but not allowed the
 * scope.
 *
 * Checks what follows from the request and the clock first, then the signature, whoever sub is, and then
 * whether sub is a client's key. So who cannot sign for a key learns nothing about it. Never blocks for long.
 * From any thread.
 */
MUST_CHECK enum err auth_check(
    struct auth *auth, const struct auth_request *request, struct auth_client *out, struct detail *why);
/* ERR_UNAUTHORIZED, as in auth_check, unless the token of the client, which auth_check has returned, is for
 * this body, and its key is still a client's: the body may have arrived much later than the head. */
MUST_CHECK enum err auth_check_body(
    struct auth *auth, struct auth_client *client, struct bytes body, struct detail *why);
