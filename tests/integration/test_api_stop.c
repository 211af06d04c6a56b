/* Nobody stays without an answer: not before a database that says nothing, and not when the service ends. */
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
    assert_in_range(took_ms, 0, 15000);
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
        cmocka_unit_test_setup(DO1_the_end_of_the_service_answers_all_who_wait, start),
    };
    return cmocka_run_group_tests_name("API: answers to all", tests, test_pg_start_private, test_pg_stop);
}
