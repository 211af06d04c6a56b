/* The set-up code of the API's test programs: one service a program, and the requests that most of them send.
 */
#pragma once

#include "service.h"
#include "unit/stellar/sample.h"

#define FIXTURE_ACCOUNTS 4

extern struct service service;

/* Set-up and tear-down of a group: the service, with FIXTURE_ACCOUNTS idle accounts. The private form has a
 * database server of its own, which the tests may stop. */
int fixture_start(void **state);
int fixture_start_private(void **state);
int fixture_stop(void **state);
/* Set-up of a test: service_reset. */
int fixture_reset(void **state);

/* The body of a request for a lease: one payment, whose source is a client's account. */
json_t *fixture_payment(void);
/* Adds to an envelope the signature of sample_key(n), SIGNER or above, for this hash. */
void fixture_sign(struct buf *envelope, const struct hash *hash, uint8_t n);
/* Asks for a fee bump of a leased payment of sample_key(SIGNER), signed by it. */
void fixture_bump(struct response *response, const struct response *leased);
/* Posts fixture_payment() to /v1/transactions. */
void fixture_post_payment(struct response *response);
