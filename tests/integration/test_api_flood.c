/*
 * Many clients at the same time: bad requests of every kind take no account (DL5), nor do clients that leave
 * (DL7).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metric.h"
#include "base/text.h"
#include "support/api_client.h"
#include "support/engine_waiting.h"
#include "support/fixture.h"
#include "unit/stellar/sample.h"
#include "slowness.h"

#define OURS 240 /* sample_key(OURS) stands for a pool account until the sample is encoded */

static unsigned port(void)
{
    return http_server_port(service.http);
}

/* A request and the reply that it must get. */
struct attempt {
    const char *method, *target, *fields;
    char *body; /* NULL: none */
    int status;
    const char *code;
};

/* Returns the body of a request for the sample, in memory that the caller frees. Wipes the sample. */
static char *body_of(struct sample *sample, const char *more)
{
    const struct public_key stand_in = sample_key(OURS);
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    for (size_t i = 0; i + sizeof stand_in.bytes <= sample->xdr.len; i += 4)
        if (memcmp(sample->xdr.data + i, stand_in.bytes, sizeof stand_in.bytes) == 0)
            memcpy(sample->xdr.data + i, service.accounts[0].bytes, sizeof stand_in.bytes);
    AUTO_FREE char *text = base64_encode(buf_bytes(&sample->xdr));
    sample_wipe(sample);
    return mem_format("{\"transactionXdr\":\"%s\"%s}", text, more);
}

static char *payment(enum sample_source source, uint8_t of, const char *more)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, source, of);
    return body_of(&sample, more);
}

static char *old_payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    set_times(&sample, 0, 1);
    return body_of(&sample, "");
}

static char *fee_bump(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    sample.form = ENVELOPE_FEE_BUMP;
    return body_of(&sample, "");
}

static char *soroban(enum sample_address address, uint32_t credentials, uint8_t of, int64_t resource_fee)
{
    struct sample sample = SAMPLE;
    struct buf auth CLEANUP(buf_free) = {0};
    add_address_entry(&auth, credentials, address, of);
    add_invoke(&sample, PLAIN, 9, 1, &auth);
    sample.resource_fee_stroops = resource_fee;
    return body_of(&sample, "");
}

static char *too_long(void)
{
    char *body = mem_new(API_BODY_MAX + 2, 1);
    memset(body, ' ', API_BODY_MAX + 1);
    return body;
}

#define POST_LEASE "POST", "/v1/transactions", NULL
#define POST_BUMP "POST", "/v1/fee-bumps", NULL
#define NO_HASH "0000000000000000000000000000000000000000000000000000000000000000"

#define KINDS_MAX 32
static struct attempt kinds[KINDS_MAX];
static size_t kind_count;

static void make_kinds(void)
{
    const struct attempt made[] = {
        {POST_LEASE, mem_copy_text("{"), 400, "INVALID_JSON"},
        {POST_LEASE, mem_copy_text("[]"), 400, "INVALID_JSON"},
        {POST_LEASE, mem_copy_text("{}"), 400, "INVALID_REQUEST"},
        {POST_LEASE, payment(PLAIN, 9, ",\"timeoutSeconds\":19"), 400, "INVALID_REQUEST"},
        {POST_LEASE, payment(PLAIN, 9, ",\"timeout\":60"), 400, "INVALID_REQUEST"},
        {POST_LEASE, mem_copy_text("{\"transactionXdr\":\"?\"}"), 400, "INVALID_TRANSACTION_XDR"},
        {POST_LEASE, mem_copy_text("{\"transactionXdr\":\"AAAAAgAA\"}"), 400, "INVALID_TRANSACTION_XDR"},
        {POST_LEASE, payment(NO_SOURCE, 0, ""), 400, "INVALID_OPERATION_STRUCTURE"},
        {POST_LEASE, payment(PLAIN, OURS, ""), 400, "FORBIDDEN_SIGNER"},
        {POST_LEASE, payment(MUXED, OURS, ""), 400, "FORBIDDEN_SIGNER"},
        {POST_LEASE, soroban(ACCOUNT, 1, OURS, 0), 400, "FORBIDDEN_SIGNER"},
        {POST_LEASE, soroban(MUXED_ACCOUNT, 2, OURS, 0), 400, "FORBIDDEN_SIGNER"},
        {POST_LEASE, soroban(ACCOUNT, 1, 9, -1), 400, "INVALID_SOROBAN_TRANSACTION"},
        {POST_LEASE, soroban(ACCOUNT, 1, 9, INT64_MAX), 400, "FEE_EXCEEDS_MAXIMUM"},
        {POST_LEASE, old_payment(), 400, "INVALID_TRANSACTION"},
        {POST_LEASE, too_long(), 413, "BODY_TOO_LARGE"},
        {"POST", "/v1/transactions", "Idempotency-Key: caf\xc3\xa9\r\n", payment(PLAIN, 9, ""), 400,
            "INVALID_REQUEST"},
        {POST_BUMP, payment(PLAIN, 9, ""), 400, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED"},
        {POST_BUMP, fee_bump(), 400, "FEE_BUMP_TX_NOT_ALLOWED"},
        {POST_BUMP, mem_copy_text("{\"transactionXdr\":7}"), 400, "INVALID_REQUEST"},
        {"POST", "/v1/transactions", "Content-Length: 0\r\n", NULL, 415, "UNSUPPORTED_MEDIA_TYPE"},
        {"DELETE", "/v1/transactions", NULL, NULL, 405, "METHOD_NOT_ALLOWED"},
        {"GET", "/v1/transactions/" NO_HASH, NULL, NULL, 404, "TRANSACTION_NOT_FOUND"},
        {"GET", "/v1/transactions/zz", NULL, NULL, 400, "INVALID_HASH"},
        {"GET", "/v1/channel-accounts?limit=0", NULL, NULL, 400, "INVALID_REQUEST"},
        {"GET", "/v2", NULL, NULL, 404, "NOT_FOUND"},
    };
    for (kind_count = 0; kind_count < ARRAY_LEN(made); kind_count++)
        kinds[kind_count] = made[kind_count];
}

static void free_kinds(void)
{
    for (size_t i = 0; i < kind_count; i++)
        free(kinds[i].body);
}

#define SENDERS 4
#define ROUNDS 30

static atomic_uint bad_requests, senders_left;

/* cmocka's assertions work on the main thread only, so the threads count what went wrong. */
struct sender {
    pthread_t thread;
    unsigned wrong;
    char first_wrong[400];
};

static void try_kind(struct sender *sender, const struct attempt *kind)
{
    struct api_client client;
    api_connect(&client, port());
    api_send(&client, kind->method, kind->target, kind->fields, kind->body);
    struct api_reply reply = api_receive(&client);
    if (reply.status != kind->status || strcmp(api_text(&reply, "code"), kind->code) != 0)
        if (sender->wrong++ == 0)
            snprintf(sender->first_wrong, sizeof sender->first_wrong, "%s %s: %d %.200s, not %s",
                kind->method, kind->target, reply.status, reply.body, kind->code);
    api_reply_wipe(&reply);
    api_close(&client);
    atomic_fetch_add(&bad_requests, 1);
}

static void *send_bad_requests(void *context)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < kind_count; i++)
            try_kind(context, &kinds[i]);
    atomic_fetch_sub(&senders_left, 1);
    return NULL;
}

/* Takes one lease and closes the ledger that ends it. No other lease may be open. Returns the time of the
 * request in microseconds. */
static int64_t lease_and_settle(void)
{
    AUTO_FREE char *body = payment(PLAIN, 9, "");
    int64_t begun_us = clock_us();
    struct api_reply reply = api_post(port(), "/v1/transactions", body);
    int64_t took_us = clock_us() - begun_us;
    struct hash hash;
    if (reply.status != 201 || hash_decode(api_text(&reply, "hash"), &hash) != ERR_OK)
        fail_msg("a good request got %d %s", reply.status, reply.body);
    api_reply_wipe(&reply);
    assert_int_equal(service_leased_accounts(&service), 1);
    service_include(&service, &hash, NULL, 0);
    assert_int_equal(service_leased_accounts(&service), 0);
    return took_us;
}

TEST(DL5_bad_requests_of_every_kind_lease_nothing_beside_good_ones)
{
    struct sender senders[SENDERS] = {0};
    int64_t leases = 0, slowest_us = 0, begun_ms = clock_ms();
    make_kinds();
    atomic_store(&senders_left, SENDERS);
    for (size_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_bad_requests, &senders[i]), 0);
    for (; atomic_load(&senders_left) > 0; leases++) {
        int64_t took_us = lease_and_settle();
        slowest_us = took_us > slowest_us ? took_us : slowest_us;
    }
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    for (size_t i = 0; i < SENDERS; i++)
        if (senders[i].wrong > 0)
            fail_msg("%u wrong replies, first: %s", senders[i].wrong, senders[i].first_wrong);
    print_message("%u bad requests in %lld ms beside %lld leases, the slowest of which took %lld ms\n",
        atomic_load(&bad_requests), (long long)(clock_ms() - begun_ms), (long long)leases,
        (long long)(slowest_us / 1000));
    assert_true(leases > 0);
    assert_int_equal(service_leases(&service), leases);
    assert_int_equal(service_leased_accounts(&service), 0);
    lease_and_settle();
    free_kinds();
}

/* Returns one of the leases. */
static struct hash lease_every_account(void)
{
    struct hash hash;
    for (int i = 0; i < FIXTURE_ACCOUNTS; i++) {
        AUTO_RESPONSE response = {0};
        fixture_post_payment(&response);
        assert_int_equal(response.status, 201);
        hash = response_hash(&response, "hash");
    }
    return hash;
}

static int64_t cancelled(void)
{
    return metric_read(METRIC_CLIENT_REQUESTS, METRIC_NO_CLIENT, ERR_CANCELLED);
}

TEST(DL7_a_client_that_hangs_up_leaves_the_queue_and_takes_no_account)
{
    const int64_t before = cancelled(), end_ms = clock_ms() + slower(5000);
    const struct hash lease = lease_every_account();
    const int gone = service_send(&service, "POST", "/v1/transactions", fixture_payment());
    while (engine_waiting(service.engine) != 1 && clock_left_ms(end_ms) > 0)
        clock_sleep_ms(2);
    close(gone);
    close(service_send(&service, "POST", "/v1/transactions", fixture_payment())); /* before it waits */
    while (cancelled() != before + 2 && clock_left_ms(end_ms) > 0)
        clock_sleep_ms(2);
    assert_int_equal(cancelled(), before + 2);
    assert_int_equal(engine_waiting(service.engine), 0);
    service_include(&service, &lease, NULL, 0);
    clock_sleep_ms(300);
    assert_int_equal(service_leases(&service), FIXTURE_ACCOUNTS);
    assert_int_equal(service_leased_accounts(&service), FIXTURE_ACCOUNTS - 1);
}

/* It has one connection, and half of them may wait. */
TEST(DL7_a_request_that_waits_for_an_account_is_counted_once)
{
    static int waiting[HTTP_MAX_CONNECTIONS / 2];
    const int64_t end_ms = clock_ms() + slower(5000);
    lease_every_account();
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        waiting[i] = service_send(&service, "POST", "/v1/transactions?wait=60", fixture_payment());
    while (engine_waiting(service.engine) != ARRAY_LEN(waiting) && clock_left_ms(end_ms) > 0)
        clock_sleep_ms(2);
    assert_int_equal(engine_waiting(service.engine), ARRAY_LEN(waiting));
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        close(waiting[i]);
    while (engine_waiting(service.engine) != 0 && clock_left_ms(end_ms) > 0)
        clock_sleep_ms(2);
    assert_int_equal(engine_waiting(service.engine), 0);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
