/* Every request gets a reply in time when the database hangs. */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "support/fixture.h"
#include "slowness.h"

static int start(void **state)
{
    service_start(&service, FIXTURE_ACCOUNTS);
    return 0;
}

static int stop(void **state)
{
    service_stop(&service);
    return 0;
}

/* No reply contains messages of libpq or SQL. */
static void assert_no_internal_text(const struct response *response)
{
    static const char *const words[] = {"libpq", "postgres", "connection", "127.0.0.1", "port ", "refused",
        "SELECT", "INSERT", "fairway.", "server", "terminating"};
    AUTO_FREE char *text = json_dumps(response->json, 0);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(text, words[i]) != NULL)
            fail_msg("\"%s\" in %s", words[i], text);
}

static void await_green(void)
{
    for (int64_t end_ms = clock_ms() + slower(10000);; clock_sleep_ms(50)) {
        AUTO_RESPONSE response = {0};
        service_get(&service, &response, "/readyz");
        if (response.status == 200)
            return;
        if (clock_left_ms(end_ms) == 0)
            fail_msg("/readyz still fails");
    }
}

#define JSON_HEAD "Content-Type: application/json\r\n"
#define SLACK_MS 500 /* of a busy machine */

/* One request, on a thread of its own. */
struct request {
    const char *method, *path, *head;
    json_t *body; /* given away */
    int limit_ms; /* for its reply */
    pthread_t thread;
    struct response response;
    int64_t took_ms;
};

static void *run_request(void *context)
{
    struct request *request = context;
    AUTO_FREE char *text = request->body == NULL ? NULL : json_dumps(request->body, 0);
    const int64_t begun_ms = clock_ms();
    service_request(&service, &request->response, request->method, request->path, request->head,
        text == NULL ? (struct bytes){0} : (struct bytes){(const uint8_t *)text, strlen(text)});
    request->took_ms = clock_ms() - begun_ms;
    return NULL;
}

/* Sends all requests at the same time, while every process of the database is stopped. */
TEST(DX7_a_frozen_database_is_reported_to_every_kind_of_request_within_its_deadline)
{
    AUTO_RESPONSE leased = {0};
    await_green();
    fixture_post_payment(&leased);
    AUTO_FREE char *path = mem_format("/v1/transactions/%s", response_text(&leased, "hash"));
    AUTO_FREE char *wait_1 = mem_format("%s?wait=1", path), *wait_3 = mem_format("%s?wait=3", path);
    struct request requests[] = {
        {.method = "POST",
            .path = "/v1/transactions",
            .head = JSON_HEAD,
            .body = fixture_payment(),
            .limit_ms = 6500},
        {.method = "POST",
            .path = "/v1/transactions",
            .head = JSON_HEAD "Idempotency-Key: k\r\n",
            .body = fixture_payment(),
            .limit_ms = 6500},
        {.method = "POST",
            .path = "/v1/fee-bumps",
            .head = JSON_HEAD,
            .body = json_pack("{s:s}", "transactionXdr", response_text(&leased, "transactionXdr")),
            .limit_ms = 6500},
        {.method = "GET", .path = path, .head = "", .limit_ms = 2500},
        {.method = "GET", .path = wait_1, .head = "", .limit_ms = 2000},
        {.method = "GET", .path = wait_3, .head = "", .limit_ms = 4000},
        {.method = "GET", .path = "/v1/pool", .head = "", .limit_ms = 2500},
        {.method = "GET", .path = "/v1/channel-accounts", .head = "", .limit_ms = 2500},
    };
    test_pg_freeze();
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        assert_int_equal(pthread_create(&requests[i].thread, NULL, run_request, &requests[i]), 0);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        pthread_join(requests[i].thread, NULL);
    test_pg_thaw();
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct request *request = &requests[i];
        print_message("%s %.60s: %s after %d ms\n", request->method, request->path,
            response_text(&request->response, "code"), (int)request->took_ms);
        assert_refused(&request->response, 503, "DATABASE_UNAVAILABLE");
        assert_no_internal_text(&request->response);
        assert_in_range(request->took_ms, 0, request->limit_ms + slower(SLACK_MS));
        response_wipe(&request->response);
        json_decref(request->body);
    }
    await_green();
}

TEST_FIXTURE(start, stop)
GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
