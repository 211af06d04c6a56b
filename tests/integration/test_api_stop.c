/* Nobody stays without an answer: not before a database that says nothing, and not when the service ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "support/service.h"
#include "unit/stellar/sample.h"

#define ACCOUNTS 2
#define LAG_LIMIT_S 35 /* a ledger that is due after 5 s, and 30 */

static struct service service;

static int start(void **state)
{
    (void)state;
    service_start(&service, ACCOUNTS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    service_stop(&service);
    return 0;
}

/* What no answer to a client may contain: words of libpq and SQL. */
static void assert_no_internal_text(const struct answer *answer)
{
    static const char *const words[] = {"libpq", "postgres", "connection", "127.0.0.1", "port ", "refused",
        "SELECT", "INSERT", "fairway.", "server", "terminating"};
    AUTO_FREE char *text = json_dumps(answer->json, 0);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(text, words[i]) != NULL)
            fail_msg("\"%s\" in %s", words[i], text);
}

static json_t *payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    json_t *body = service_body(buf_bytes(&sample.xdr));
    sample_wipe(&sample);
    return body;
}

static void lease(struct answer *answer)
{
    service_post(&service, answer, "/v1/transactions", payment());
}

static void await_green(void)
{
    for (int64_t end_ms = clock_ms() + 10000;; clock_sleep_ms(50)) {
        AUTO_ANSWER answer = {0};
        service_get(&service, &answer, "/readyz");
        if (answer.status == 200)
            return;
        if (clock_left_ms(end_ms) == 0)
            fail_msg("not ready again");
    }
}

/* The close time's distance from the database's clock, either way; ready and grantable go together. */
static void assert_ready_and_granted(int age_s, bool expected)
{
    AUTO_ANSWER ready = {0}, leased = {0};
    AUTO_FREE char *sql = mem_format(
        "UPDATE fairway.cursor SET close_time = floor(extract(epoch FROM clock_timestamp()))::int8 - (%d)",
        age_s);
    service_reset(&service);
    test_db_exec(&service.db, sql);
    service_get(&service, &ready, "/readyz");
    lease(&leased);
    assert_int_equal(ready.status, expected ? 200 : 503);
    if (expected)
        assert_int_equal(leased.status, 201);
    else
        assert_answer_refused(&leased, 503, "GRANTS_SUSPENDED");
}

/* A second or two may pass between setting the time and looking at it. */
static void DO5_H18_a_replica_is_ready_exactly_while_it_would_grant(void **state)
{
    (void)state;
    assert_ready_and_granted(LAG_LIMIT_S - 3, true);
    assert_ready_and_granted(LAG_LIMIT_S + 1, false);
    assert_ready_and_granted(-LAG_LIMIT_S, true);
    assert_ready_and_granted(-LAG_LIMIT_S - 4, false);
}

#define JSON_HEAD "Content-Type: application/json\r\n"
#define SLACK_MS 500 /* of a busy machine */
#define QUEUE 60

/* Many more than there are workers, each of which the database holds until its time is over. */
static void DX7_a_database_that_does_not_answer_costs_everybody_a_bounded_time(void **state)
{
    (void)state;
    int fds[QUEUE];
    await_green();
    test_pg_freeze();
    int64_t begun_ms = clock_ms();
    for (size_t i = 0; i < QUEUE; i++)
        fds[i] = service_say(&service, "GET", i % 2 == 0 ? "/v1/pool" : "/readyz", NULL);
    for (size_t i = 0; i < QUEUE; i++) {
        AUTO_ANSWER answer = {0};
        service_hear(fds[i], &answer);
        assert_int_equal(answer.status, 503);
        assert_no_internal_text(&answer);
    }
    int64_t took_ms = clock_ms() - begun_ms;
    test_pg_thaw();
    print_message(
        "%d requests before a frozen database: all answered after %lld ms\n", QUEUE, (long long)took_ms);
    assert_in_range(took_ms, 0, 2500 + SLACK_MS);
    await_green();
}

/* One request, on a thread of its own. */
struct request {
    const char *method, *path, *head;
    json_t *body; /* given away */
    int limit_ms; /* for its answer */
    pthread_t thread;
    struct answer answer;
    int64_t took_ms;
};

static void *run_request(void *context)
{
    struct request *request = context;
    AUTO_FREE char *text = request->body == NULL ? NULL : json_dumps(request->body, 0);
    const int64_t begun_ms = clock_ms();
    service_ask(&service, &request->answer, request->method, request->path, request->head,
        text == NULL ? (struct bytes){0} : (struct bytes){(const uint8_t *)text, strlen(text)});
    request->took_ms = clock_ms() - begun_ms;
    return NULL;
}

/* Each at once, before a database in which every process is stopped. */
static void DX7_a_frozen_database_is_named_to_every_kind_of_request_within_its_deadline(void **state)
{
    (void)state;
    AUTO_ANSWER leased = {0};
    await_green();
    lease(&leased);
    AUTO_FREE char *path = mem_format("/v1/transactions/%s", answer_text(&leased, "hash"));
    AUTO_FREE char *wait_1 = mem_format("%s?wait=1", path), *wait_3 = mem_format("%s?wait=3", path);
    struct request requests[] = {
        {.method = "POST",
            .path = "/v1/transactions",
            .head = JSON_HEAD,
            .body = payment(),
            .limit_ms = 6500},
        {.method = "POST",
            .path = "/v1/transactions",
            .head = JSON_HEAD "Idempotency-Key: k\r\n",
            .body = payment(),
            .limit_ms = 6500},
        {.method = "POST",
            .path = "/v1/fee-bumps",
            .head = JSON_HEAD,
            .body = json_pack("{s:s}", "transactionXdr", answer_text(&leased, "transactionXdr")),
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
            answer_text(&request->answer, "code"), (int)request->took_ms);
        assert_answer_refused(&request->answer, 503, "DATABASE_UNAVAILABLE");
        assert_no_internal_text(&request->answer);
        assert_in_range(request->took_ms, 0, request->limit_ms + SLACK_MS);
        answer_wipe(&request->answer);
        json_decref(request->body);
    }
    await_green();
}

#define WAITING 20

/* In the watch, in the queue of a pool that is all leased, and before workers that a lock holds up. */
static void DO1_the_end_of_the_service_answers_all_who_wait(void **state)
{
    (void)state;
    static const char sql_lock[] = "LOCK TABLE fairway.leases IN ACCESS EXCLUSIVE MODE";
    struct db *holder = db_new(&(struct db_settings){
        .url = service.db.url, .kind = DB_DIRECT, .name = "holder", .idle_transaction_timeout_ms = 30000});
    AUTO_ANSWER leased = {0};
    unsigned waited = 0, queued = 0, asked = 0;
    int fds[3 * WAITING];
    for (size_t i = 0; i < ACCOUNTS; i++) {
        lease(&leased);
        assert_int_equal(leased.status, 201);
    }
    AUTO_FREE char *path = mem_format("/v1/transactions/%s?wait=60", answer_text(&leased, "hash"));
    for (size_t i = 0; i < WAITING; i++)
        fds[i] = service_say(&service, "GET", path, NULL);
    for (size_t i = WAITING; i < 2 * WAITING; i++)
        fds[i] = service_say(&service, "POST", "/v1/transactions", payment());
    clock_sleep_ms(200);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(db_query(holder, DB_SQL0(sql_lock), NULL, NULL), ERR_OK);
    for (size_t i = 2 * WAITING; i < 3 * WAITING; i++)
        fds[i] = service_say(&service, "POST", "/v1/fee-bumps",
            json_pack("{s:s}", "transactionXdr", answer_text(&leased, "transactionXdr")));
    clock_sleep_ms(200);
    int64_t begun_ms = clock_ms();
    service_stop(&service);
    int64_t took_ms = clock_ms() - begun_ms;
    for (size_t i = 0; i < 3 * WAITING; i++) {
        AUTO_ANSWER answer = {0};
        service_hear(fds[i], &answer);
        assert_int_equal(answer.status, 503);
        assert_no_internal_text(&answer);
        bool stopping = strcmp(answer_text(&answer, "code"), "SHUTTING_DOWN") == 0;
        *(i < WAITING ? &waited : i < 2 * WAITING ? &queued : &asked) += stopping;
    }
    db_free(holder);
    assert_int_equal(waited, WAITING);
    assert_int_equal(queued, WAITING);
    assert_in_range(asked, 1, WAITING); /* of the others a worker had asked already */
    assert_in_range(took_ms, 0, 7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(DO5_H18_a_replica_is_ready_exactly_while_it_would_grant, start, stop),
        cmocka_unit_test_setup_teardown(
            DX7_a_database_that_does_not_answer_costs_everybody_a_bounded_time, start, stop),
        cmocka_unit_test_setup_teardown(
            DX7_a_frozen_database_is_named_to_every_kind_of_request_within_its_deadline, start, stop),
        cmocka_unit_test_setup(DO1_the_end_of_the_service_answers_all_who_wait, start),
    };
    return cmocka_run_group_tests_name("API: answers to all", tests, test_pg_start_private, test_pg_stop);
}
