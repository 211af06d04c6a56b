/*
 * `fairway serve` without ingestion, in this process: key process, lease engine, watch, API and HTTP, with a
 * database of its own. Tests close the ledgers. Every function fails the test if it does not succeed.
 */
#pragma once

#include <jansson.h>

#include "check.h"
#include "api/api.h"
#include "base/mem.h"
#include "http/server.h"
#include "keyd.h"
#include "pg.h"

#define SERVICE_PASSPHRASE KEYD_TEST_PASSPHRASE
#define SERVICE_BASE_FEE 100
#define SERVICE_MAX_RESOURCE_FEE 5000000
#define SERVICE_BUMP_BASE_FEE 10000
#define SERVICE_MAX_BUMP_FEE 1000000
#define SERVICE_FEE_CHARGED 345 /* by each ledger of service_include */

struct fake_rpc;

struct service {
    struct test_db db;
    struct db *sql; /* the test's own connection */
    struct keyd *keyd;
    struct engine *engine;
    struct watch *watch;
    struct api *api;
    struct http_server *http;
    struct api *admin; /* of the admin listener */
    struct http_server *admin_http;
    char rpc_url[64];     /* of rpc, which the API keeps */
    struct fake_rpc *rpc; /* tests that set its replies include unit/rpc/fake_rpc.h */
    struct network_id network;
    struct public_key distribution;
    struct public_key *accounts; /* of the pool */
    size_t account_count;
    bool synchronous_failover;    /* setting of an API that is started from now on */
    _Atomic uint32_t seen_ledger; /* 0: not known */
    bool ingestion_works;
    struct detail ingestion_error; /* the reason why it does not */
};

/* The fake RPC's replies: a simulation that needs SERVICE_MAX_RESOURCE_FEE, and no account. service_reset
 * sets them too. */
void service_set_rpc(struct service *service);
/* Starts the service; test_pg_start must have started the server. */
void service_start(struct service *service, size_t accounts);
void service_stop(struct service *service);
/* The service's limits. A balance for less than 1,000 payments is low; for less than 100, no lease is
 * granted. */
#define SERVICE_PAYMENT (2 * SERVICE_BUMP_BASE_FEE)
extern const struct funds_limits service_funds;
extern const struct policy_limits service_limits;
/* Starts the API again, with other limits. */
void service_restart_api(struct service *service, const struct policy_limits *limits);
/* Stores what the distribution account can spend; negative: unknown. */
void service_set_spendable(struct service *service, int64_t stroops);
/* Resets the database between tests: no lease, no fee bump, every account idle, a ledger that has just
 * closed, and an unknown balance of the distribution account. */
void service_reset(struct service *service);

/* Closes a ledger that has the lease's transaction in it, in the fee bump of that hash unless it is NULL. */
void service_include(
    struct service *service, const struct hash *lease, const struct hash *fee_bump, int32_t result_code);
/* Closes an empty ledger. */
void service_close_ledger(struct service *service);

/* The caller wipes it. */
struct response {
    int status;
    json_t *json;
    char head[2048];
};
void response_wipe(struct response *response);
#define AUTO_RESPONSE CLEANUP(response_wipe) struct response

/* Sends one request on a connection of its own and receives the response. head: further lines, each with its
 * CR LF. */
void service_request(struct service *service, struct response *response, const char *method, const char *path,
    const char *head, struct bytes body);
void service_get(struct service *service, struct response *response, const char *path);
/* Takes ownership of body. */
void service_post(struct service *service, struct response *response, const char *path, json_t *body);
/* Returns the value of a header, valid until the next call, or NULL. */
const char *response_header(const struct response *response, const char *name);

/* Sends a request without waiting for its response; returns the connection for service_receive. Takes
 * ownership of body (may be NULL). */
int service_send(struct service *service, const char *method, const char *path, json_t *body);
/* Receives the response to service_send, and closes the connection. */
void service_receive(int fd, struct response *response);

/* {"transactionXdr": base64 of xdr} */
json_t *service_body(struct bytes xdr);
const char *response_text(const struct response *response, const char *member);
struct hash response_hash(const struct response *response, const char *member);
/* Appends the member's decoded base64. */
void response_xdr(const struct response *response, const char *member, struct buf *out);

void assert_refused(const struct response *response, int status, const char *code);
/* Asserts that the object has exactly these members; names ends with NULL. */
void assert_json_members(const json_t *object, const char *const names[]);

/* Returns the one number (int8) of a query; sql is a printf format. */
int64_t service_number(struct service *service, const char *sql, ...) __attribute__((format(printf, 2, 3)));
int64_t service_leases(struct service *service);
int64_t service_leased_accounts(struct service *service);
