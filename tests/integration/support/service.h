/*
 * The whole of `fairway serve` but ingestion, in this process: key process, lease engine, watch, API and HTTP
 * over a database of its own. Ledgers are closed by hand. Everything here fails the test when it goes wrong.
 */
#ifndef FAIRWAY_TESTS_SERVICE_H
#define FAIRWAY_TESTS_SERVICE_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/api.h"
#include "http/server.h"
#include "keyd.h"
#include "pg.h"

#define SERVICE_PASSPHRASE KEYD_TEST_PASSPHRASE
#define SERVICE_BASE_FEE 100
#define SERVICE_MAX_RESOURCE_FEE 5000000
#define SERVICE_BUMP_BASE_FEE 10000
#define SERVICE_MAX_BUMP_FEE 1000000
#define SERVICE_MAX_BODY 65536

struct service {
    struct test_db db;
    struct db *sql; /* the test's own connection */
    struct keyd *keyd;
    struct engine *engine;
    struct watch *watch;
    struct api *api;
    struct http_server *http;
    struct api *admin; /* the operators' endpoints */
    struct http_server *admin_http;
    struct network_id network;
    struct public_key distribution;
    struct public_key *accounts; /* of the pool */
    size_t account_count;
    bool synchronous_failover; /* of an API that is started from now on */
    bool ingestion_well;
    struct detail ingestion_says; /* as its own log would have it */
};

/* On a server that runs already (test_pg_start). */
void service_start(struct service *service, size_t accounts);
void service_stop(struct service *service);
/* As the service has them: 100 payments are the floor, 1,000 are low. */
#define SERVICE_PAYMENT (2 * SERVICE_BUMP_BASE_FEE)
extern const struct funds_limits service_funds;
extern const struct policy_limits service_limits;
/* As a replica with other limits would answer. */
void service_restart_api(struct service *service, const struct policy_limits *limits);
/* Makes this known of the distribution account; below 0: nothing. */
void service_set_spendable(struct service *service, int64_t stroops);
/* Between tests: nothing known of the distribution account, no lease, no fee bump, every account idle, a
 * ledger that has just closed. */
void service_reset(struct service *service);

/* Closes a ledger that has the lease's transaction in it, in the fee bump of that hash unless it is NULL. */
void service_include(
    struct service *service, const struct hash *lease, const struct hash *fee_bump, int32_t result_code);
/* Closes an empty ledger. */
void service_close_ledger(struct service *service);

/* What came back. Wipe it. */
struct answer {
    int status;
    json_t *json;
    char head[2048];
};
void answer_wipe(struct answer *answer);
#define AUTO_ANSWER CLEANUP(answer_wipe) struct answer

/* One request on a connection of its own. head: further lines, each with its CR LF. */
void service_ask(struct service *service, struct answer *answer, const char *method, const char *path,
    const char *head, struct bytes body);
void service_get(struct service *service, struct answer *answer, const char *path);
/* body is given away. */
void service_post(struct service *service, struct answer *answer, const char *path, json_t *body);
/* The value of a header in the answer, or NULL. Valid until the next call. */
const char *answer_header(const struct answer *answer, const char *name);

/* Sends a request and leaves the answer to be heard: for those that wait. */
int service_say(struct service *service, const char *method, const char *path, json_t *body);
/* Hears what service_say asked for, and closes it. */
void service_hear(int fd, struct answer *answer);

/* {"transactionXdr": base64 of xdr} */
json_t *service_body(struct bytes xdr);
const char *answer_text(const struct answer *answer, const char *member);
struct hash answer_hash(const struct answer *answer, const char *member);
/* Appends the member's decoded base64. */
void answer_xdr(const struct answer *answer, const char *member, struct buf *out);

void assert_answer_refused(const struct answer *answer, int status, const char *code);
/* Exactly these members, which end with NULL. */
void assert_json_members(const json_t *object, const char *const names[]);

/* The one number (int8) that a query gives; sql is a printf format. */
int64_t service_number(struct service *service, const char *sql, ...) __attribute__((format(printf, 2, 3)));
/* Counts that say what a request left behind. */
int64_t service_leases(struct service *service);
int64_t service_leased_accounts(struct service *service);

#endif
